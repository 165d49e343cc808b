// Copies of the database: taken while the daemon runs, put back while it does not. Nothing is ever deleted; the file that a
// restore replaces stays beside it. A copy has its name only once it is whole and on the disk.
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { Fault } from "@parley/protocol";
import { describeDatabase } from "./describe.ts";
import { damagedFault, openFault, troubleOf } from "./failure.ts";

/** Copies the database at `from` to the new file `to`, as of one instant, without stopping its writers. */
export async function backupDatabase(from: string, to: string): Promise<void> {
  if (existsSync(to)) throw new Fault("conflict", `${to} exists already: choose another name for the backup`);
  if (!existsSync(dirname(to)))
    throw new Fault("missing", `there is no folder ${dirname(to)} for the backup: make it first`);
  const partial = `${to}.partial`;
  removeAny(partial);
  try {
    const source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
    try {
      // An open read transaction keeps the snapshot still; without it every write of the daemon would start the copy over.
      closeSync(openSync(partial, "w", 0o600));
      source.exec("begin; select count(*) from sqlite_schema");
      await backup(source, partial);
    } finally {
      source.close();
    }
    standalone(partial);
    refuseUnsound(partial);
    settleAs(partial, to);
  } catch (error) {
    removeAny(partial);
    if (troubleOf(error) === "full")
      throw new Fault(
        "unavailable",
        `${to} cannot be written, the disk is full: free some space, then try again`,
      );
    throw writeFault(to, openFault(from, error));
  }
}

/**
 * Puts the backup `from` in place of the database `to`; the caller holds the home's lock. The old file is kept as
 * `<to>.replaced-<nowMs>`. Returns that name, or null when there was none. Throws Fault("invalid") for an unsound backup.
 */
export function restoreDatabase(from: string, to: string, nowMs: number): string | null {
  if (!existsSync(from)) throw new Fault("missing", `there is no file ${from}`);
  refuseUnsound(from);
  const partial = `${to}.partial`;
  try {
    copyFileSync(from, partial);
    const aside = existsSync(to) ? keepAside(to, `${to}.replaced-${nowMs}`) : null;
    settleAs(partial, to);
    return aside;
  } catch (error) {
    removeAny(partial);
    throw writeFault(to, error);
  }
}

function removeAny(path: string): void {
  if (existsSync(path)) rmSync(path, { force: true });
}

/** What the file system refused, told with the place that a person chose. Anything else passes unchanged. */
function writeFault(path: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof Fault || code === undefined || !message.startsWith(`${code}: `)) return error;
  const fix =
    code === "ENOSPC" || code === "EDQUOT" ? "free some space" : "choose a place that this user may write";
  return new Fault("unavailable", `${path} cannot be written: ${message}: ${fix}, then try again`, {
    cause: error,
  });
}

/** A second name for the old files, so that at no instant there is no database; the log is folded in where that is possible. */
function keepAside(path: string, aside: string): string {
  try {
    standalone(path);
  } catch {
    // A file too damaged to open is exactly why one restores: it is kept as it is.
  }
  for (const side of ["-wal", "-shm"]) {
    if (!existsSync(path + side)) continue;
    linkSync(path + side, aside + side);
    rmSync(path + side);
  }
  linkSync(path, aside);
  return aside;
}

/** Folds the write-ahead log into the file, so that the file alone is the database. */
function standalone(path: string): void {
  const db = new DatabaseSync(path, { timeout: 5000 });
  try {
    db.exec("pragma journal_mode = delete");
  } finally {
    db.close();
  }
}

function refuseUnsound(path: string): void {
  const [finding] = describeDatabase(path, { full: true }).findings;
  if (finding !== undefined) throw damagedFault(path, finding);
}

function settleAs(partial: string, path: string): void {
  // The copy of a copy has the mode of what it was copied from.
  chmodSync(partial, 0o600);
  syncToDisk(partial);
  renameSync(partial, path);
  syncToDisk(dirname(path));
}

function syncToDisk(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
