// Tells whether a process with this number still runs, whoever owns it, and whether it is the same as before.
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
 * What a later process under the same number does not share: the boot and the moment of the start. Null where
 * the system does not tell, which Linux alone does.
 */
export function startOf(pid: number): string | null {
  const started = statOf(pid)?.[startedAt];
  if (started === undefined) return null;
  try {
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${started}`;
  } catch {
    // A hardened system hides it; the moment alone tells nearly as much.
    return started;
  }
}

/**
 * It has ended, and its parent has not looked: in a container without an init that may be for ever. Known on
 * Linux only.
 */
function isUnburied(pid: number): boolean {
  return statOf(pid)?.[0] === "Z";
}

/** Field 22 of proc_pid_stat(5), of which the first two are cut off. */
const startedAt = 19;

/** The fields behind the program's name, which may hold anything. */
function statOf(pid: number): readonly string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    // No such file system, or just gone.
    return null;
  }
}
