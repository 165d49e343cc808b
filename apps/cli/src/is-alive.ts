// Tells whether a process with this number still runs, whoever owns it.
import { readFileSync } from "node:fs";

export function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return !isUnburied(pid);
  } catch (error) {
    // Another user's process is there, too.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * It has ended, and its parent has not looked: in a container without an init that may be for ever. Known on
 * Linux only.
 */
function isUnburied(pid: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).startsWith("Z");
  } catch {
    // No such file system, or just gone.
    return false;
  }
}
