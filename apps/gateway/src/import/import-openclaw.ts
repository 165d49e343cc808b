// Moves an OpenClaw home into Parley's state folder while neither gateway runs: config, secrets, workspaces,
// skills, people, schedules and conversations. Without `apply` nothing is written and the report tells what
// would be. The source is only read, and a second import changes nothing.
import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { listenTrouble, placesIn, replaceFile, type Env } from "@parley/config";
import { pairingStore } from "@parley/access";
import { Fault, sessionKeyOf, type Clock, type Ids } from "@parley/protocol";
import { jobStore } from "@parley/schedules";
import { lockHome } from "@parley/store";
import { templatesFolder } from "../installation.ts";
import { logger } from "../log/logger.ts";
import { wireStore } from "../wiring/store.ts";
import { copyFiles, planFiles } from "./files.ts";
import { fitted } from "./fit.ts";
import { placeOf, readJobs } from "./jobs.ts";
import { withKeys } from "./keys.ts";
import { restOf, todoOf } from "./left-behind.ts";
import { importLedger } from "./ledger.ts";
import { readPeople } from "./people.ts";
import type { ImportReport, Met } from "./report.ts";
import { secretsToWrite, variablesToWrite } from "./secrets.ts";
import { readSessions } from "./sessions.ts";
import { writeSession } from "./write-session.ts";
import { readSource, type Source } from "./source.ts";
import { translate, type Translated } from "./translate.ts";
import { at, withValue } from "./tree.ts";

export interface ImportOptions {
  /** Absolute. */
  readonly folder: string;
  readonly apply: boolean;
  /** Also while something listens on the port of the source's gateway. */
  readonly evenIfRunning: boolean;
  readonly env: Env;
  readonly clock: Clock;
  readonly ids: Ids;
}

const openclawPort = 18_789;

/** Throws Fault and ConfigFault, each with what to do; then nothing was written. */
export async function importOpenclaw(options: ImportOptions): Promise<ImportReport> {
  const { folder, apply, env, clock, ids } = options;
  const { home, configPath } = placesIn(env);
  const source = readSource(folder);
  const isRunning = await runs(source);
  if (apply && isRunning && !options.evenIfRunning)
    throw new Fault(
      "conflict",
      `something listens on port ${portOf(source)}, where OpenClaw's gateway does: stop it first (openclaw gateway stop), so that nothing is said there that is not carried. If it is another program, add --even-if-running`,
    );
  // Held to the end, so that no gateway starts on what is half carried.
  const lock = apply ? lockHome(home, process.pid) : null;
  try {
    const ledger = importLedger(home);
    const people = readPeople(source);
    const translated = withOwners(withKeys(source, translate(source)), people.owners);
    const before = existsSync(configPath) ? readFileSync(configPath, "utf8") : "";
    const fit = await fitted({
      translated,
      env,
      home,
      configPath,
      before,
      placeholder: () => `${ids.uuid()}${ids.uuid()}`,
    });
    const { config } = fit;
    const owner = config.commands.ownerAllowFrom[0];
    const place =
      owner === undefined
        ? null
        : placeOf(undefined, owner.replace(/^discord:(?=\d)/, "discord:user:"), "default");
    const { dmScope, identityLinks } = config.session;
    const jobs = readJobs(source, {
      nowMs: clock.now(),
      zone: config.cron.timezone ?? config.agents.defaults.userTimezone,
      agents: config.agents.list.map(({ id }) => id),
      home: (agent) =>
        place === null ? null : { place, session: sessionKeyOf(place, { agent, dmScope, identityLinks }) },
    });
    const old = readSessions(source);
    const isKnown = (to: string): boolean => ledger.has("file", to);
    const plans = [
      ...source.agents.flatMap(({ id, workspace }, index) => {
        const to =
          config.agents.list.find((agent) => agent.id === id)?.workspace ??
          config.agents.list[index]?.workspace;
        return to === undefined
          ? []
          : [
              planFiles({
                from: workspace,
                to,
                templates: templatesFolder,
                isKnown,
                apart: apartFrom(source, home, workspace),
                isExpected: true,
              }),
            ];
      }),
      // A folder of workspace files has its skills among them.
      ...(!source.isHome
        ? []
        : [planFiles({ from: join(folder, "skills"), to: join(home, "skills"), templates: null, isKnown })]),
    ];
    const copies = plans.flatMap((plan) => plan.copies);
    const secrets = secretsToWrite(fit, before, translated, home);
    const variables = variablesToWrite(home, translated);
    const named = (kind: "person" | "job" | "session", name: string): boolean => !ledger.has(kind, name);
    const pairings = people.pairings.filter((each) => named("person", personOf(each)));
    const freshJobs = jobs.jobs.filter(({ id }) => named("job", id));
    const sessions = old.sessions.filter(({ key }) => named("session", key));
    const wasThere = new Set<string>();
    if (apply) {
      for (const [name, value] of secrets.fresh) {
        await mkdir(dirname(join(home, name)), { recursive: true, mode: 0o700 });
        await replaceFile(join(home, name), `${value}\n`, { isPrivate: true });
      }
      if (variables !== null) await replaceFile(join(home, "env"), variables, { isPrivate: true });
      await copyFiles(copies);
      await ledger.add(
        "file",
        plans.flatMap(({ met }) =>
          met.flatMap(({ to, fate }) => (to === undefined || fate === "refused" ? [] : [to])),
        ),
      );
      if (pairings.length + freshJobs.length + sessions.length > 0) {
        const bootId = ids.uuid();
        const { log } = await logger({ level: "warn", pretty: false, secrets: [] });
        const store = await wireStore({
          config,
          home,
          bootId,
          exclusive: false,
          onFatal: () => {},
          clock,
          log,
        });
        try {
          const access = pairingStore(store.cells, clock, ids);
          for (const each of pairings) if (!(await access.admit(each))) wasThere.add(personOf(each));
          await ledger.add("person", pairings.map(personOf));
          const kept = jobStore(store.cells);
          for (const job of freshJobs) {
            const added = await kept.add(job);
            if (!added.ok && added.refusal !== "known") throw new Fault("conflict", added.reason);
            if (!added.ok) wasThere.add(job.id);
          }
          await ledger.add(
            "job",
            freshJobs.map(({ id }) => id),
          );
          const carried: string[] = [];
          for (const session of sessions) {
            if (!(await writeSession(store, session, bootId, clock.now()))) wasThere.add(session.key);
            carried.push(session.key);
            // Each rewrites the ledger, so that one a conversation would take long for thousands.
            if (carried.length % 50 === 0) await ledger.add("session", carried);
          }
          await ledger.add("session", carried);
        } finally {
          await store.close();
        }
      }
      // Last, so that what a gateway finds by it is there.
      if (fit.text !== null) {
        await mkdir(dirname(configPath), { recursive: true, mode: 0o700 });
        await replaceFile(configPath, fit.text);
      }
    }
    const fresh = new Set<string>([...freshJobs.map(({ id }) => id), ...sessions.map(({ key }) => key)]);
    const carriedBefore = (met: Met): Met => {
      const name = met.to ?? met.name;
      const isCarried = met.fate === "carried" || met.fate === "changed";
      return isCarried && (!fresh.has(name) || wasThere.has(name))
        ? { ...met, fate: "there", why: "it was carried before, or there is one of this name" }
        : met;
    };
    return {
      from: folder,
      home,
      configPath,
      applied: apply,
      changes:
        fit.text !== null ||
        secrets.fresh.size > 0 ||
        variables !== null ||
        copies.length + pairings.length + freshJobs.length + sessions.length > wasThere.size,
      met: [
        ...translated.met,
        ...fit.met,
        ...plans.flatMap(({ met }) => met),
        ...people.owners.map((name): Met => ({
          what: "owner",
          name,
          fate: "carried",
          to: "commands.ownerAllowFrom",
        })),
        ...people.pairings.map((each): Met => {
          const name = personOf(each);
          const isNew = pairings.includes(each) && !wasThere.has(name);
          return isNew
            ? { what: "person", name, fate: "carried" }
            : { what: "person", name, fate: "there", why: "carried before, or let in here" };
        }),
        ...people.met,
        ...[...jobs.met, ...old.met].map(carriedBefore),
        ...restOf(source),
        ...source.files.told(folder),
        ...source.databases.told(),
      ],
      todo: todoOf({
        source,
        fit,
        translated,
        secrets: secrets.other,
        isRunning,
        hasOwner: owner !== undefined,
      }),
    };
  } finally {
    source.databases.close();
    lock?.release();
  }
}

/** A workspace may be the home itself, or hold it: then the home's own files are no notes of the agent. */
function apartFrom(source: Source, home: string, workspace: string): (path: string) => string | null {
  return (path) => {
    if (path === home) return "it is Parley's own state folder";
    if (!source.isHome) return null;
    if (path === source.folder) return "it is OpenClaw's own";
    const isOwn = workspace === source.folder && dirname(path) === source.folder;
    return isOwn && !/^(?:.+\.md|memory|skills)$/.test(basename(path)) ? "it is OpenClaw's own" : null;
  };
}

function personOf({
  channel,
  account,
  senderId,
}: {
  readonly channel: string;
  readonly account: string;
  readonly senderId: string;
}): string {
  return `${channel}:${account}:${senderId}`;
}

function withOwners(translated: Translated, owners: readonly string[]): Translated {
  if (owners.length === 0) return translated;
  const file = withValue(translated.file, ["commands", "ownerAllowFrom"], [...owners]) as Translated["file"];
  const why = "the one person who was let in there is the owner here";
  const changed = new Map(translated.changed).set("commands.ownerAllowFrom", {
    from: "commands.ownerAllowFrom",
    why,
  });
  return { ...translated, file, changed };
}

function portOf(source: Source): number {
  const port = at(source.config, ["gateway", "port"]);
  return typeof port === "number" ? port : openclawPort;
}

async function runs(source: Source): Promise<boolean> {
  return source.isHome && (await listenTrouble("127.0.0.1", portOf(source))) === "EADDRINUSE";
}
