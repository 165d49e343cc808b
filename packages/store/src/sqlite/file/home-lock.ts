// Allows one daemon per home. The kernel holds the lock on a small SQLite file, so a killed process leaves no
// lock behind. A file beside it names the holder, because nobody else can read the locked one.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "@parley/protocol";
import { openFault, troubleOf } from "../failure.ts";

export interface HomeLock {
  /** Releases the home; calling it again changes nothing. The death of the process releases it too. */
  release(): void;
}

/** The collector closes a database that nobody holds any more, which would free its home unasked. */
const held = new Set<DatabaseSync>();

/**
 * Locks the folder for this process. Throws Fault("conflict") with the id of the process that already holds
 * it, or Fault("unavailable") when the folder cannot be written. The lock is advisory (fcntl), so on network
 * file systems it is only as good as theirs.
 */
export function lockHome(dir: string, pid: number): HomeLock {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const lockFile = join(dir, "daemon.lock");
  const db = opened(lockFile);
  const pidFile = join(dir, "daemon.pid");
  try {
    db.exec("begin exclusive");
  } catch (error) {
    db.close();
    if (troubleOf(error) !== "busy") throw openFault(lockFile, error);
    const by = `process ${holderOf(pidFile) ?? "of unknown id"}`;
    throw new Fault(
      "conflict",
      `${dir} is in use by another Parley (${by}): stop that one first, or set PARLEY_HOME to another folder`,
      {
        cause: error,
      },
    );
  }
  writeFileSync(pidFile, `${pid}\n`, { mode: 0o600 });
  held.add(db);
  return {
    release() {
      held.delete(db);
      if (db.isOpen) db.close();
    },
  };
}

function opened(lockFile: string): DatabaseSync {
  try {
    return new DatabaseSync(lockFile, { timeout: 0 });
  } catch (error) {
    throw openFault(lockFile, error);
  }
}

function holderOf(pidFile: string): string | null {
  try {
    return readFileSync(pidFile, "utf8").trim() || null;
  } catch {
    // The holder has the lock but has not written its id yet.
    return null;
  }
}
