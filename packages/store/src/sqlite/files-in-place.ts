// Notices that the files under an open database were taken away: SQLite goes on writing into what has no name any more, and every commit
// succeeds (I1). Looked at after each commit, before anybody is told that it is stored.
import { statSync } from "node:fs";

interface Place {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
}

/** Returns the look: null while `path` and its write-ahead log are the files that were there before, else what happened to them. */
export function filesInPlace(path: string): () => string | null {
  const log = `${path}-wal`;
  const opened = placeOf(path);
  // Made by the first transaction, and the same file from then on while anybody has the database open.
  let openedLog = placeOf(log);

  return () => {
    const now = placeOf(path);
    if (now === null) return gone(path, "was removed");
    if (opened === null || !isSame(now, opened)) return gone(path, "was replaced by another file");
    // The head of a database in this mode is written when it is made.
    if (now.size === 0) return gone(path, "was emptied");
    const nowLog = placeOf(log);
    openedLog ??= nowLog;
    if (openedLog !== null && (nowLog === null || !isSame(nowLog, openedLog)))
      return gone(log, "was removed or replaced");
    return null;
  };
}

function placeOf(path: string): Place | null {
  return statSync(path, { throwIfNoEntry: false }) ?? null;
}

function isSame(one: Place, other: Place): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}

function gone(path: string, what: string): string {
  return `${path} ${what} while Parley was running: what is written now is lost, so nothing more is acknowledged`;
}
