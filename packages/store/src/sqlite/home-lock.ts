// One daemon per home. The lock is a lock of the kernel on a small SQLite file, so a killed process leaves none behind;
// who holds it stands in a file beside it, because nobody can read the locked one.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "@parley/protocol";
import { openFault, troubleOf } from "./failure.ts";

export interface HomeLock {
  /** Gives the home free; idempotent. The death of the process does the same. */
  release(): void;
}

/**
 * Locks the folder for this process. Throws Fault: "conflict" that names the process that holds it already, "unavailable" where the
 * folder cannot be written.
 * The lock is advisory (fcntl): on network file systems it is only as good as theirs.
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
  return {
    release() {
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
