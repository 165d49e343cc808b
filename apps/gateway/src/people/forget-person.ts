// Forgets a person, or hands out what is stored of one: both by the same look at everything, so that what was
// shown is what goes.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "@parley/config";
import type { MemoryEngine } from "@parley/memory";
import { Fault, type Clock, type Ids, type Log, type MethodResult } from "@parley/protocol";
import { memoryTarget, tellForgotten } from "@parley/runner";
import type { Store, StoredRecord, Verdict } from "@parley/store";
import { forgetImported, importedOf } from "../import/ledger.ts";
import { backupFolder } from "../maintenance/scheduled-backups.ts";
import { belongings } from "./belongings.ts";
import { cutFiles, cutLogs, filesOf, leftovers, type PersonFiles } from "./person-files.ts";
import { marksOf, personIn, type Person, type PersonMarks } from "./person.ts";
import { surveyor, type Survey } from "./survey.ts";

export interface PersonPorts {
  readonly config: Config;
  readonly store: Pick<Store, "scrub" | "cells">;
  readonly memory: Pick<MemoryEngine, "reindex">;
  /** The state folder. */
  readonly home: string;
  readonly clock: Clock;
  readonly ids: Pick<Ids, "uuid">;
  readonly log: Log;
}

export interface PersonLook {
  readonly person: Person;
  readonly marks: PersonMarks;
  readonly survey: Survey;
  readonly judge: (record: StoredRecord) => Verdict;
  readonly counts: { [kind: string]: number };
  readonly rewritten: number;
  readonly media: readonly string[];
  readonly files: PersonFiles;
  /** What an import carried, as `importedOf` asks. */
  readonly isImported: Parameters<typeof importedOf>[1];
}

type Forgotten = MethodResult<"people.forget">;

const backupFile = /\.db(?:\.sealed)?$/;
const recordPrefix = "person-forgotten:";
const mediaName = /[0-9a-f]{64}\.[a-z0-9]{1,8}/g;
/** What a command said, as `logFolder` of the tools has it. */
const outputName = /\.parley\/exec\/[0-9a-z]+-[a-z2-9]{8}\.log/g;
const names: { readonly [kind in StoredRecord["kind"]]: string } = {
  session: "sessions",
  row: "messages",
  turn: "turns",
  step: "steps",
  entry: "transcript entries",
  delivery: "answers",
  part: "parts of answers",
  event: "events",
  cell: "records",
  lane: "queues",
};
/** What people call the records of these cells. */
const cellNames: { readonly [prefix: string]: string } = {
  paired: "pairings",
  pairing: "pairing requests",
  approval: "approvals",
  question: "questions",
  usage: "usage records",
  "prompt:turn": "prompt records",
  "prompt:text": "prompt texts",
  "memory-note": "origins of notes",
  job: "schedules",
  cronrun: "runs of schedules",
};

export function peopleStored({ config, store, memory, home, clock, ids, log }: PersonPorts) {
  const scrub = store.scrub;
  const agents = config.agents.list;

  async function look(text: string): Promise<PersonLook & { readonly scrub: NonNullable<typeof scrub> }> {
    const person = personIn(text, config.session.identityLinks);
    if (scrub === undefined)
      throw new Fault("unsupported", "this store cannot be looked through for a person");
    const marks = marksOf(person);
    const sight = surveyor(marks);
    await scrub((record) => sight.see(record), false);
    const survey = sight.end();
    const cells = new Set(
      survey.attachments.map(
        ({ account, ref }) =>
          `media:${account}:${createHash("sha256").update(ref).digest("hex").slice(0, 32)}`,
      ),
    );
    const judge = belongings(marks, survey, cells);
    const counts: { [kind: string]: number } = {};
    let rewritten = 0;
    const gone = new Set<string>();
    const kept = new Set<string>();
    await scrub((record) => {
      const verdict = judge(record);
      for (const text of Object.values(record.texts))
        for (const name of [...(text.match(mediaName) ?? []), ...(text.match(outputName) ?? [])])
          (verdict === "remove" ? gone : kept).add(name);
      if (verdict === "remove") {
        const name = nameOf(record);
        counts[name] = (counts[name] ?? 0) + 1;
      } else if (verdict !== "keep") rewritten += 1;
      return verdict;
    }, false);
    const media = [...gone].filter((name) => !kept.has(name) && existsSync(join(home, "media", name)));
    const outputs = new Set([...gone].filter((name) => !kept.has(name)));
    const files = await filesOf(person, marks, survey, { home, agents, outputs, cells: store.cells });
    const isImported: PersonLook["isImported"] = (kind, name) =>
      marks.names(name) ||
      (kind === "person" && isAccountOf(marks, name)) ||
      (kind === "session" && marks.ownsSession(name)) ||
      (kind === "job" && survey.jobs.has(name));
    return { person, marks, survey, judge, counts, rewritten, media, files, isImported, scrub };
  }

  async function forget(text: string, confirm: boolean): Promise<Forgotten> {
    const found = await look(text);
    const { person, marks, survey, judge, counts, rewritten, media, files, isImported } = found;
    const imported = importedOf(home, isImported);
    const lines = (cuts: PersonFiles["notes"]): number =>
      cuts.reduce((sum, { lines: gone }) => sum + gone.length, 0);
    const told = {
      ...counts,
      ...(media.length === 0 ? {} : { "files of messages": media.length }),
      ...(files.notes.length === 0 ? {} : { "lines of notes": lines(files.notes) }),
      ...(files.results.length === 0 ? {} : { "kept results": files.results.length }),
      ...(files.logs.length === 0 ? {} : { "lines of the log": lines(files.logs) }),
      ...(imported === 0 ? {} : { "records of imports": imported }),
    };
    if (confirm) {
      if (survey.busy.size > 0)
        throw new Fault(
          "conflict",
          `something of ${person.name} is still at work (${[...survey.busy].slice(0, 3).join(", ")}): /stop there, or wait until it has ended; \`parley lanes\` shows it`,
        );
      // Files first: what says whose they are goes with the records.
      for (const name of media) rmSync(join(home, "media", name), { force: true });
      cutFiles([...files.notes, ...files.results]);
      cutLogs(files.logs, marks, survey);
      await forgetImported(home, isImported, ids);
      await found.scrub(judge, true);
      if (files.notes.length > 0)
        for (const agent of agents)
          if (agent.memorySearch.enabled) {
            await memory.reindex(memoryTarget(home, agent));
            await tellForgotten(store.cells, agent.id, clock.now());
          }
      const record = { atMs: clock.now(), counts: told, rewritten };
      await store.cells.put(`${recordPrefix}${record.atMs}`, JSON.stringify(record), {});
      log.info(record, "a person was forgotten");
    }
    return {
      person: person.name,
      ids: person.ids.map(({ channel, id }) => `${channel}:${id}`),
      done: confirm,
      counts: told,
      rewritten,
      sessions: [...survey.sessions],
      shared: [...survey.spokeIn],
      names: [...survey.names],
      busy: [...survey.busy],
      notes: [...notesOn(found, confirm)],
    };
  }

  function* notesOn({ marks, survey, files, isImported }: PersonLook, done: boolean): Generator<string> {
    if (survey.unknownEntries > 0)
      yield `${survey.unknownEntries} older entries of private sessions that several people share do not say who wrote them: they stay (\`parley sessions forget\` removes such a session)`;
    // Before the cut a file still has what goes of it; what stays in it may name them too.
    const going = new Set(
      [...files.notes, ...files.results].flatMap(({ path, text }) =>
        text === null || !marks.names(text) ? [path] : [],
      ),
    );
    if (importedOf(home, isImported) > 0) going.add(join(home, "imported.json"));
    const workspaces = agents.map(({ workspace }) => workspace);
    for (const path of leftovers(home, workspaces, marks))
      if (!going.has(path))
        yield `${path} ${done ? "names" : "would still name"} them: it is yours to change`;
    const copies = readdirSync(home).filter((name) => /^state\.db\.|\.db$/.test(name) && name !== "state.db");
    for (const name of copies)
      yield `${join(home, name)} is a copy of the database of an earlier time: it keeps what it has`;
    const folder = backupFolder(home, config.backup);
    const backups = existsSync(folder) ? readdirSync(folder).filter((name) => backupFile.test(name)) : [];
    if (backups.length > 0)
      yield `${folder} has ${backups.length === 1 ? "1 backup" : `${backups.length} backups`} of before now, with what was stored then: new ones take their place (backup.keep), or remove them`;
    yield "copies outside stay: backups, a git history of the workspace, messages on the platforms, what was sent to models";
  }

  return { look, forget };
}

/** Of `<channel>:<account>:<id>`. */
function isAccountOf(marks: PersonMarks, name: string): boolean {
  const [channel = "", ...rest] = name.split(":");
  return marks.isId(channel, rest.slice(1).join(":"));
}

function nameOf({ kind, id }: StoredRecord): string {
  if (kind !== "cell") return names[kind];
  const prefix = Object.keys(cellNames).find(
    (each) => id.startsWith(`${each}:`) || id.startsWith(`${each}/`),
  );
  return prefix === undefined ? names.cell : (cellNames[prefix] ?? names.cell);
}
