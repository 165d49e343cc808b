// Lets one update of a state folder run at a time. The kernel holds the lock on a small SQLite file, so that
// a killed process leaves none behind and nobody can take one that is just being made; `update.lock` beside
// it names the holder, also to versions that know no other lock. A second lock of that kind is for whoever
// puts another database in place: an update, or a start of the gateway that looks after one.
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "@parley/protocol";
import { deniedFault, isRunning, writeWhole } from "./update-record.ts";

/** A restore of a large database takes its time. */
const longestRestoreMs = 1_800_000;
/** Somebody may just be looking whether the lock is free. */
const busyForMs = 200;
/** SQLITE_BUSY in sqlite3.h. */
const busy = 5;

/** A lock that nothing refers to would be given up by the garbage collection. */
const held = new Set<DatabaseSync>();

const holderFile = (home: string): string => join(home, "update.lock");

/** Returns what gives the lock up. Throws Fault("conflict") while another process updates. */
export function lockUpdate(home: string): () => void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const guard = guarded(home, "update.guard", busyForMs);
  const other = guard === null ? holderOf(home) : olderHolder(home);
  if (guard === null || other !== null) {
    guard?.close();
    throw new Fault("conflict", `An update runs already${other === null ? "" : ` (process ${other})`}.`);
  }
  held.add(guard);
  writeWhole(holderFile(home), `${process.pid}\n`);
  return () => {
    if (!held.delete(guard)) return;
    rmSync(holderFile(home), { force: true });
    guard.close();
  };
}

/** Whether a process updates now. */
export function isUpdating(home: string): boolean {
  const guard = guarded(home, "update.guard", 0);
  guard?.close();
  return guard === null || olderHolder(home) !== null;
}

/** Waits while another process does such work. Throws Fault("unavailable") when that takes for ever. */
export async function aloneWithDatabase<T>(home: string, work: () => Promise<T>): Promise<T> {
  const guard = guarded(home, "restore.guard", longestRestoreMs);
  if (guard === null)
    throw new Fault("unavailable", "another process has put a database in place for half an hour");
  held.add(guard);
  try {
    return await work();
  } finally {
    held.delete(guard);
    guard.close();
  }
}

/** The lock, held until it is closed or this process dies; null when another process has it. */
function guarded(home: string, name: string, waitMs: number): DatabaseSync | null {
  const path = join(home, name);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: waitMs });
    db.exec("begin exclusive");
    chmodSync(path, 0o600);
    const { uid, gid } = statSync(home);
    if (process.getuid?.() === 0 && uid !== 0) chownSync(path, uid, gid);
    return db;
  } catch (error) {
    db?.close();
    const { errcode } = error as { readonly errcode?: number };
    if (errcode === busy) return null;
    if (!mayWrite(home)) throw deniedFault(home, error);
    throw new Fault("unavailable", `${path} cannot be locked: ${(error as Error).message}`, { cause: error });
  }
}

function mayWrite(home: string): boolean {
  try {
    accessSync(home, constants.W_OK);
    return true;
  } catch {
    // Why is told by whoever asked.
    return false;
  }
}

function holderOf(home: string): number | null {
  const pid = Number(holderText(home));
  return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
}

/** A process of a version that holds no other lock: it writes its number without an end of the line. */
function olderHolder(home: string): number | null {
  if (holderText(home).endsWith("\n")) return null;
  const pid = holderOf(home);
  return pid !== null && pid !== process.pid && isRunning(pid) ? pid : null;
}

function holderText(home: string): string {
  try {
    return readFileSync(holderFile(home), "utf8");
  } catch {
    // Nobody holds it, or its holder has not written its number yet.
    return "";
  }
}
