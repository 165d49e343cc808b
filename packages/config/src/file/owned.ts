// Gives what root makes to the user whom the folder around it belongs to: what a command by `sudo` leaves in
// the state folder, the daemon must be able to open. Links are never followed, because that user sets them.
import { closeSync, constants, fchownSync, fstatSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Those above it too, where they are missing; all for their user alone. */
export function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined || !isRoot()) return;
  for (let made = path; ; made = dirname(made)) {
    const fd = openSync(made, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      giveTo(fd, dirname(first));
    } finally {
      closeSync(fd);
    }
    if (made === first) return;
  }
}

const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/** The mode is 0600 where it is new. A pipe that nobody reads is refused (ENXIO). */
export function openToAppend(path: string): number {
  let fd: number;
  try {
    fd = openSync(path, "ax", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return openSync(path, appending, 0o600);
  }
  giveTo(fd, dirname(path));
  return fd;
}

/** `like`: a path whose owner it gets. Nothing where this is not root. */
export function giveTo(fd: number, like: string): void {
  if (!isRoot()) return;
  const { uid, gid } = statSync(like);
  if (fstatSync(fd).uid !== uid) fchownSync(fd, uid, gid);
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
