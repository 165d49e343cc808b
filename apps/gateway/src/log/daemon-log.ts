// Opens the daemon's log as the config wants it: standard error, the newest lines in memory and the file on
// disk, all fed with the same redacted lines (I8). Nodes that share a home have a file each.
import { join } from "node:path";
import { secretValues, type Config } from "@parley/config";
import type { Clock } from "@parley/protocol";
import { recentLog, type RecentLog } from "./recent-log.ts";
import { logFile, type LogFile } from "./log-file.ts";
import { logger, type Logger } from "./logger.ts";

export interface DaemonLogOptions {
  readonly config: Config;
  readonly home: string;
  /** Name of this process among those of its home. */
  readonly node: string;
  /** Readable lines for a terminal instead of JSON. */
  readonly pretty: boolean;
  readonly clock: Clock;
}

export interface DaemonLog extends Logger {
  readonly book: RecentLog;
  /** Closes the file; later lines still go to standard error. */
  close(): void;
}

export async function daemonLog({ config, home, node, pretty, clock }: DaemonLogOptions): Promise<DaemonLog> {
  const book = recentLog();
  const file = fileOf(config, home, node, clock);
  const made = await logger({
    level: config.logging.level,
    pretty,
    secrets: secretValues(config),
    onLine(line) {
      book.add(line);
      file?.write(line);
    },
  });
  return { ...made, book, close: () => file?.close() };
}

/** Null where the config wants no file. */
function fileOf({ logging, store }: Config, home: string, node: string, clock: Clock): LogFile | null {
  const { enabled, maxMegabytes, keep } = logging.file;
  if (!enabled) return null;
  const name = store.driver === "redis" ? `parley-${node.replaceAll(/[^\w.-]/g, "_")}` : "parley";
  return logFile({ folder: join(home, "logs"), name, maxBytes: maxMegabytes * 1_000_000, keep, clock });
}
