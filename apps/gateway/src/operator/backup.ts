// Implements backup and restore as methods. The operator gives absolute paths on the gateway's machine.
import { isAbsolute } from "node:path";
import { Fault } from "@parley/protocol";
import type { DatabaseJobs } from "../maintenance/database-jobs.ts";
import type { DatabaseHandlers } from "./ports.ts";

const elsewhere =
  'the data is in Redis, which has its own backup: copy its append-only files, or take a snapshot with "redis-cli --rdb FILE"';

/** Throws Fault("unsupported") where the data lives on another server. */
export function ownFile(databasePath: string | null): string {
  if (databasePath === null) throw new Fault("unsupported", elsewhere);
  return databasePath;
}

/** The handlers of a running daemon. */
export function runningDatabase(
  databasePath: string | null,
  jobs: Pick<DatabaseJobs, "backup">,
): DatabaseHandlers {
  return {
    async backup({ path, passphrase }) {
      const to = absolute(path);
      return { path: to, bytes: await jobs.backup(ownFile(databasePath), to, passphrase) };
    },
    async restore() {
      ownFile(databasePath);
      throw new Fault(
        "unsupported",
        'the gateway runs on this database: stop it, then run "parley restore <file>"',
      );
    },
  };
}

/**
 * Throws Fault("invalid") for a relative path, because operators do not know the gateway's working folder.
 */
export function absolute(path: string): string {
  if (isAbsolute(path)) return path;
  throw new Fault("invalid", `"${path}" is not an absolute path`);
}
