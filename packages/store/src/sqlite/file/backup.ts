// Backs up the database while the daemon runs, and restores it while it does not. Nothing is deleted: a
// restore keeps the replaced file beside the new one. A copy gets its final name only once it is whole and on
// disk.
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { Fault } from "@parley/protocol";
import { describeDatabase } from "./describe.ts";
import { settleRestored, type RestoredCell, type SettledWork } from "./settle-restored.ts";
import { damagedFault, openFault, troubleOf } from "../failure.ts";
import { applicationId } from "../schema.ts";

/** Copies the database `from` at one instant to the new file `to`, without stopping its writers. */
export async function backupDatabase(from: string, to: string): Promise<void> {
  if (existsSync(to)) throw new Fault("conflict", `${to} exists already: choose another name for the backup`);
  if (!existsSync(dirname(to)))
    throw new Fault("missing", `there is no folder ${dirname(to)} for the backup: make it first`);
  const partial = `${to}.partial`;
  removeAny(partial);
  try {
    const source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
    try {
      // An open read transaction holds the snapshot; without it every write of the daemon would restart the
      // copy.
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
 * Replaces the database `to` with the backup `from`; the caller holds the home lock. Keeps the old file as
 * `<to>.replaced-<nowMs>` and returns that name, or null when there was none. `settle` ends what was open
 * when the backup was made, and says what becomes of each cell. Throws Fault("invalid") for a damaged backup.
 */
export function restoreDatabase(
  from: string,
  to: string,
  nowMs: number,
  settle: RestoredCell | null = null,
): { readonly keptAs: string | null } & SettledWork {
  if (!existsSync(from)) throw new Fault("missing", `there is no file ${from}`);
  // With a log beside it, all of it may stand there still.
  if (!existsSync(`${from}-wal`) && isForeign(from)) throw noBackup(from);
  refuseUnsound(from);
  if (describeDatabase(from, { full: false }).schema === 0) throw noBackup(from);
  const partial = `${to}.partial`;
  removeWithSides(partial);
  try {
    copyFileSync(from, partial);
    // A copy of a state folder may have what was written last in the log beside the file.
    if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${partial}-wal`);
    standalone(partial);
    const settled = settle === null ? { messages: 0, answers: 0 } : settleRestored(partial, nowMs, settle);
    if (settle !== null) standalone(partial);
    const keptAs = existsSync(to) ? keepAside(to, `${to}.replaced-${nowMs}`) : null;
    settleAs(partial, to);
    return { keptAs, ...settled };
  } catch (error) {
    removeWithSides(partial);
    throw writeFault(to, error);
  }
}

const headOfDatabase = "SQLite format 3\0";
/** Where the header of a file of SQLite says whose it is. */
const applicationAt = 68;

function isForeign(path: string): boolean {
  const head = Buffer.alloc(applicationAt + 4);
  const file = openSync(path, "r");
  try {
    readSync(file, head, 0, head.length, 0);
  } finally {
    closeSync(file);
  }
  return (
    head.subarray(0, headOfDatabase.length).equals(Buffer.from(headOfDatabase)) &&
    head.readUInt32BE(applicationAt) !== applicationId
  );
}

function noBackup(from: string): Fault {
  return new Fault("invalid", `${from} is no backup of Parley: it is empty, or another program's`);
}

function removeWithSides(path: string): void {
  for (const side of ["", "-wal", "-shm"]) removeAny(path + side);
}

function removeAny(path: string): void {
  if (existsSync(path)) rmSync(path, { force: true });
}

/**
 * Turns a refusal of the file system into a Fault that names the path a person chose. Other errors pass
 * unchanged.
 */
function writeFault(path: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof Fault || code === undefined || !message.startsWith(`${code}: `)) return error;
  const fix =
    code === "ENOSPC" || code === "EDQUOT" ? "free some space" : "choose a place that this user may write";
  return new Fault("unavailable", `${path} cannot be written: ${message}: ${fix}, then try again`, {
    cause: error,
  });
}

/**
 * Gives the old files a second name, so that there is a database at every instant; folds the write-ahead log
 * in where possible.
 */
function keepAside(path: string, aside: string): string {
  try {
    standalone(path);
  } catch {
    // A file too damaged to open is often the reason for a restore; it is kept as it is.
  }
  for (const side of ["-wal", "-shm"]) {
    if (!existsSync(path + side)) continue;
    linkSync(path + side, aside + side);
    rmSync(path + side);
  }
  linkSync(path, aside);
  return aside;
}

/** Folds the write-ahead log into the file, so that the file alone is the whole database. */
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
  // A copied copy keeps the mode of its source.
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
