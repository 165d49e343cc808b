// Keeps the table of what age and size take, and by which keys of the config: the daemon, and the operator
// who asks what would go, use the same one. What is open, pinned or at work, files that a turn may need and
// the newest backup are never in it (I9). All rules look before one takes, so that what was shown goes.
import { isAbsolute, join } from "node:path";
import type { Config } from "@parley/config";
import type { Clock, MethodResult, SessionKey } from "@parley/protocol";
import { spanMs } from "@parley/schedules";
import type { Store } from "@parley/store";
import type { ReferringStore } from "./media-references.ts";
import { mediaFiles } from "./media-retention.ts";
import { oldFiles, removeFiles, type Found, type OldFiles } from "./old-files.ts";
import { countTalk, oldTalk, removeTalk, type OldTalk } from "./old-talk.ts";
import { heldResults, pinnedSessions } from "./pinned-talk.ts";
import { backupName } from "./scheduled-backups.ts";

export interface RetentionPorts {
  readonly config: Config;
  readonly store: ReferringStore & Pick<Store, "sweep">;
  /** The state folder. */
  readonly home: string;
  readonly clock: Clock;
}

type Told = MethodResult<"retention.run">["rules"][number];

interface Plan extends Pick<Told, "bytes"> {
  readonly count: number;
  /** Removes them; returns their number. */
  readonly take: () => Promise<number>;
}

interface Rule extends Pick<Told, "name" | "keys" | "rule" | "unit"> {
  /** Null: what leaves by itself, in slices of the store's own. */
  readonly look: (() => Promise<Plan>) | null;
}

const dayMs = 86_400_000;
const olderLog = /^parley(?:-[\w.-]+)?\.\d+\.log$/;
const resultName = /^[0-9a-f]{12}-[\w-]{1,64}\.txt$/;
/** What commands said. */
const outputName = /^[0-9a-z]+-[a-z2-9]{8}\.log$/;
const sweepRows = 500;
const jobRuns = "jobs";

export function retention(ports: RetentionPorts) {
  const { clock, store } = ports;
  const rules = rulesOf(ports);
  async function looked(write: boolean, only: readonly Rule[]): Promise<Told[]> {
    const plans: { readonly rule: Omit<Rule, "look">; readonly plan: Plan | null }[] = [];
    for (const { look, ...rule } of only) plans.push({ rule, plan: look === null ? null : await look() });
    const told: Told[] = [];
    for (const { rule, plan } of plans) {
      const { count = null, bytes = null } = plan ?? {};
      told.push({ ...rule, count: write && plan !== null ? await plan.take() : count, bytes });
    }
    return told;
  }

  return {
    /** Takes what has an age without a word of `retention` in the config. */
    runUsual: (): Promise<Told[]> =>
      looked(
        true,
        rules.filter(({ name }) => name === jobRuns),
      ),
    /** What age and size would take, or with `write` took. */
    async run(write: boolean): Promise<Told[]> {
      const told = await looked(write, rules);
      if (write) while (await store.sweep(sweepRows)) await new Promise<void>((go) => clock.after(0, go));
      return told;
    },
  };
}

function rulesOf({ config, store, home, clock }: RetentionPorts): readonly Rule[] {
  const { retention: kept, media, backup, logging, cron } = config;
  const files = (name: string, keys: readonly string[], rule: string, all: readonly OldFiles[]): Rule => ({
    name,
    keys: [...keys],
    rule,
    unit: "files",
    async look() {
      const old: Found[] = [];
      for (const each of all) old.push(...(await oldFiles(each, clock.now())));
      const bytes = old.reduce((sum, file) => sum + file.bytes, 0);
      return { count: old.length, bytes, take: () => removeFiles(old).then(() => old.length) };
    },
  });
  async function talkPlan(found: AsyncGenerator<OldTalk>, is: (key: SessionKey) => boolean): Promise<Plan> {
    const all: OldTalk[] = [];
    let count = 0;
    for await (const old of found) {
      if (!is(old.key)) continue;
      all.push(old);
      count += await countTalk(store, old);
    }
    const take = async (): Promise<number> => {
      let taken = 0;
      for (const old of all) taken += await removeTalk(store, old, clock.now());
      return taken;
    };
    return { count, bytes: null, take };
  }
  const prefixes = config.agents.list.map(({ id }) => `agent:${id}:cron:`);
  const isOfJob = (key: SessionKey): boolean => prefixes.some((prefix) => key.startsWith(prefix));
  const aged = (days: number | undefined): number | undefined =>
    days === undefined ? undefined : days * dayMs;
  const after = (days: number | undefined, otherwise: string): string =>
    days === undefined
      ? otherwise
      : `${otherwise === "kept for good" ? "" : `${otherwise}, `}go after ${days} days`;
  /** Jobs that are gone, or run seldom, have no next run that takes what their last one left. */
  async function* ofJobs(): AsyncGenerator<OldTalk> {
    const keptMs = Math.min(spanMs(cron.sessionRetention) ?? 0, aged(kept.transcripts.days) ?? Infinity);
    for (const prefix of prefixes) yield* oldTalk(store, clock.now() - keptMs, prefix);
  }
  const workspaces = [...new Set(config.agents.list.map(({ workspace }) => workspace))];
  const { transcripts, results, logs, backups } = kept;
  return [
    {
      name: "transcripts",
      keys: ["retention.transcripts.days"],
      rule: after(transcripts.days, "kept for good"),
      unit: "entries",
      async look() {
        if (transcripts.days === undefined) return { count: 0, bytes: null, take: async () => 0 };
        const pinned = await pinnedSessions(store, config);
        return talkPlan(
          oldTalk(store, clock.now() - transcripts.days * dayMs),
          (key) => !pinned.has(key) && !isOfJob(key),
        );
      },
    },
    {
      name: jobRuns,
      keys: ["cron.sessionRetention"],
      rule: `go ${cron.sessionRetention} after their run`,
      unit: "entries",
      look: () => talkPlan(ofJobs(), isOfJob),
    },
    files(
      "media",
      ["media.keepDays", "media.maxMegabytes"],
      `${media.maxMegabytes} MB together, go after ${media.keepDays} days; what a conversation still names stays`,
      [mediaFiles(join(home, "media"), media, store)],
    ),
    files(
      "results",
      ["retention.results.days"],
      after(results.days, "the newest 1000 of a workspace, and what 200 commands said"),
      workspaces.flatMap((workspace) =>
        [
          { folder: join(workspace, ".parley", "results"), names: resultName },
          { folder: join(workspace, ".parley", "exec"), names: outputName },
        ].map((each) => ({
          ...each,
          keepMs: aged(results.days),
          inUse: (names: ReadonlySet<string>) => heldResults(store, config, names),
        })),
      ),
    ),
    files(
      "logs",
      ["retention.logs.days", "logging.file.keep", "logging.file.maxMegabytes"],
      after(logs.days, `${logging.file.keep} older files of ${logging.file.maxMegabytes} MB`),
      [{ folder: join(home, "logs"), names: olderLog, keepMs: aged(logs.days) }],
    ),
    files(
      "backups",
      ["retention.backups.days", "backup.keep"],
      after(backups.days, `the newest ${backup.keep}`),
      [
        {
          folder: isAbsolute(backup.folder) ? backup.folder : join(home, backup.folder),
          names: backupName,
          keepMs: aged(backups.days),
          keepNewest: 1,
        },
      ],
    ),
    fixed("messages", "messages, turns and answers", "go 5 days after they ended; open ones stay"),
    fixed("prompts", "prompts", "the newest 500 of a session, go after 5 days"),
    fixed("events", "events", "the newest 10000"),
    fixed("audit", "files", "ten files of 10 MB"),
  ];
}

function fixed(name: string, unit: string, rule: string): Rule {
  return { name, keys: [], rule, unit, look: null };
}
