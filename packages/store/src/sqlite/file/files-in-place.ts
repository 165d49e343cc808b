// Notices that the files of an open database were moved or deleted: SQLite would go on writing to the
// nameless files, and every commit would succeed (I1). The transaction asks after each commit, before callers
// hear that it is stored.
import { statSync } from "node:fs";

interface Place {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
}

/**
 * Returns a function that answers null while `path` and its write-ahead log are the same files as before,
 * otherwise what happened to them.
 */
export function filesInPlace(path: string): () => string | null {
  const log = `${path}-wal`;
  const opened = placeOf(path);
  // The first transaction creates the log, and it stays the same file while anybody has the database open.
  let openedLog = placeOf(log);

  return () => {
    const now = placeOf(path);
    if (now === null) return gone(path, "was removed");
    if (opened === null || !isSame(now, opened)) return gone(path, "was replaced by another file");
    // In WAL mode the header is written when the file is created, so an empty file was emptied.
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
