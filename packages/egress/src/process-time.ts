// Tells how long a process has really worked, so that a limit holds for its work and not for the others on a
// busy machine.
import { readFileSync } from "node:fs";

/** Linux counts in hundredths of a second, whatever the machine (getconf CLK_TCK). */
const tickMs = 10;

/** Null where it cannot be known. */
export function workedMs(pid: number | undefined): number | null {
  if (pid === undefined) return null;
  try {
    // Behind the program's name, which may hold anything: utime and stime are the 12th and 13th (proc(5)).
    const [, rest = ""] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    const [user, system] = rest.split(" ").slice(11, 13).map(Number);
    const ms = ((user ?? Number.NaN) + (system ?? Number.NaN)) * tickMs;
    return Number.isNaN(ms) ? null : ms;
  } catch {
    // No such file system, or no such process any more.
    return null;
  }
}
