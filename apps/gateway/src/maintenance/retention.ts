// Keeps the table of what age and size take, and by which keys of the config: the daemon, and the operator
// who asks what would go, use the same one. Rows that are open, files that a turn may need and the newest
// backup are never in it (I9).
import { isAbsolute, join } from "node:path";
import type { Config } from "@parley/config";
import type { Clock, MethodResult } from "@parley/protocol";
import { spanMs } from "@parley/schedules";
import type { Store } from "@parley/store";
import type { ReferringStore } from "./media-references.ts";
import { mediaFiles } from "./media-retention.ts";
import { oldFiles, removeFiles, type OldFiles } from "./old-files.ts";
import { countTalk, oldTalk, removeTalk } from "./old-talk.ts";
import { backupName } from "./scheduled-backups.ts";

export interface RetentionPorts {
  readonly config: Config;
  readonly store: ReferringStore & Pick<Store, "sweep">;
  /** The state folder. */
  readonly home: string;
  readonly clock: Clock;
}

type Told = MethodResult<"retention.run">["rules"][number];

interface Rule extends Pick<Told, "name" | "keys" | "rule" | "unit"> {
  /** With `write` removes them. Null: what leaves by itself, in slices of the store's own. */
  readonly look: ((write: boolean) => Promise<Pick<Told, "count" | "bytes">>) | null;
}

const dayMs = 86_400_000;
/** A turn or a delivery that uses a file is over by then. */
const neededMs = 2 * dayMs;
const olderLog = /^parley(?:-[\w.-]+)?\.\d+\.log$/;
const resultName = /^[0-9a-f]{12}-[\w-]{1,64}\.txt$/;
const sweepRows = 500;
const jobRuns = "jobs";

export function retention(ports: RetentionPorts) {
  const { clock, store } = ports;
  const rules = rulesOf(ports);
  async function looked(write: boolean, only: readonly Rule[]): Promise<Told[]> {
    const told: Told[] = [];
    for (const { look, ...rule } of only)
      told.push({ ...rule, ...(look === null ? { count: null, bytes: null } : await look(write)) });
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
    async look(write) {
      let count = 0;
      let bytes = 0;
      for (const each of all) {
        const old = await oldFiles(each, clock.now());
        count += old.length;
        bytes += old.reduce((sum, file) => sum + file.bytes, 0);
        if (write) await removeFiles(old);
      }
      return { count, bytes };
    },
  });
  const aged = (days: number | undefined): number | undefined =>
    days === undefined ? undefined : days * dayMs;
  const after = (days: number | undefined, otherwise: string): string =>
    days === undefined
      ? otherwise
      : `${otherwise === "kept for good" ? "" : `${otherwise}, `}go after ${days} days`;
  /** Jobs that are gone, or run seldom, have no next run that takes what their last one left. */
  async function ofJobs(write: boolean): Promise<number> {
    let count = 0;
    const beforeMs = clock.now() - (spanMs(cron.sessionRetention) ?? 0);
    for (const { id } of config.agents.list)
      for await (const old of oldTalk(store, beforeMs, `agent:${id}:cron:`))
        count += write ? await removeTalk(store, old, clock.now()) : await countTalk(store, old);
    return count;
  }
  const workspaces = [...new Set(config.agents.list.map(({ workspace }) => workspace))];
  const { transcripts, results, logs, backups } = kept;
  return [
    {
      name: "transcripts",
      keys: ["retention.transcripts.days"],
      rule: after(transcripts.days, "kept for good"),
      unit: "entries",
      async look(write) {
        let count = 0;
        if (transcripts.days === undefined) return { count, bytes: null };
        for await (const old of oldTalk(store, clock.now() - transcripts.days * dayMs)) {
          count += write ? await removeTalk(store, old, clock.now()) : await countTalk(store, old);
        }
        return { count, bytes: null };
      },
    },
    {
      name: jobRuns,
      keys: ["cron.sessionRetention"],
      rule: `go ${cron.sessionRetention} after their run`,
      unit: "entries",
      look: async (write) => ({ count: await ofJobs(write), bytes: null }),
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
      after(results.days, "the newest 1000 of a workspace"),
      workspaces.map((workspace) => ({
        folder: join(workspace, ".parley", "results"),
        names: resultName,
        keepMs: aged(results.days),
        neededMs,
      })),
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
