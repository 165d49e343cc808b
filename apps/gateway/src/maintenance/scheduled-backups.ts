// Makes backups by itself, as often as the config says, and keeps the newest of them. The names of the files
// say when they were made, so that a restart neither makes one too many nor forgets one.
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { Config } from "@parley/config";
import type { Clock, Log } from "@parley/protocol";
import type { DatabaseJobs } from "./database-jobs.ts";

export interface ScheduledBackupsOptions {
  /** Null where another server keeps the data. */
  readonly database: string | null;
  /** The state folder. */
  readonly home: string;
  readonly settings: () => Config["backup"];
  readonly jobs: Pick<DatabaseJobs, "backup">;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ScheduledBackups {
  /** When the newest was made; null for none. */
  lastAtMs(): number | null;
  /** How often they are made; null where none are. */
  everyMs(): number | null;
  /** Why the last one could not be made; null when it could. */
  trouble(): string | null;
  stop(): void;
}

const hourMs = 3_600_000;
const lookEveryMs = 300_000;
/** A starting daemon has more urgent work. */
const firstMs = 90_000;
/** Names of files that it made. */
export const backupName = /^parley-(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})Z\.db(?:\.sealed)?$/;

const leftover =
  /^parley-[\d-]{10}T[\d-]{8}Z\.db(?:\.sealed)?\.(?:open|partial|open\.partial)(?:-wal|-shm|-journal)?$/;

export function backupFolder(home: string, { folder }: Pick<Config["backup"], "folder">): string {
  return isAbsolute(folder) ? folder : join(home, folder);
}

export function scheduledBackups(options: ScheduledBackupsOptions): ScheduledBackups {
  const { database, home, settings, jobs, clock, log } = options;
  let stopped = false;
  let trouble: string | null = null;

  const made = (): readonly { readonly name: string; readonly atMs: number }[] => {
    try {
      return readdirSync(backupFolder(home, settings())).flatMap((name) => {
        const [, day, hour, minute, second] = backupName.exec(name) ?? [];
        return day === undefined ? [] : [{ name, atMs: Date.parse(`${day}T${hour}:${minute}:${second}Z`) }];
      });
    } catch {
      // The folder is made with the first one.
      return [];
    }
  };
  const newest = (): number | null => {
    const all = made();
    return all.length === 0 ? null : Math.max(...all.map(({ atMs }) => atMs));
  };

  async function look(): Promise<void> {
    const { everyHours, keep, passphrase } = settings();
    if (everyHours === undefined || database === null) return;
    const nowMs = clock.now();
    const last = newest();
    if (last !== null && nowMs - last < everyHours * hourMs && last <= nowMs) return;
    const folder = backupFolder(home, settings());
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const stamp = new Date(nowMs).toISOString().slice(0, 19).replaceAll(":", "-");
    // What a killed one left is not encrypted, and may fill the disk.
    for (const name of readdirSync(folder))
      if (leftover.test(name)) rmSync(join(folder, name), { force: true });
    const path = join(folder, `parley-${stamp}Z.db${passphrase === undefined ? "" : ".sealed"}`);
    const bytes = await jobs.backup(database, path, passphrase?.reveal());
    log.info({ path, bytes }, "a backup was made");
    for (const { name } of made()
      .toSorted((a, b) => b.atMs - a.atMs)
      .slice(keep))
      rmSync(join(folder, name), { force: true });
  }

  const again = (): void => {
    look()
      .then(
        () => (trouble = null),
        (error: unknown) => {
          if (stopped) return;
          trouble = error instanceof Error ? error.message : String(error);
          log.error({ error }, "the scheduled backup could not be made; it is tried again");
        },
      )
      .finally(() => {
        if (!stopped) timer = clock.after(lookEveryMs, again);
      });
  };
  let timer = clock.after(firstMs, again);
  return {
    lastAtMs: newest,
    everyMs() {
      const { everyHours } = settings();
      return everyHours === undefined || database === null ? null : everyHours * hourMs;
    },
    trouble: () => trouble,
    stop() {
      stopped = true;
      timer.cancel();
    },
  };
}
