// Ends the processes that tests start and leave behind: redis-server, a browser, a daemon. Node itself
// reports every child, so that no helper has to think of it. A watcher process gets their ids and ends them
// when the pipe to the test worker breaks, which happens however the worker dies.
import { type ChildProcess, spawn } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import type { Writable } from "node:stream";

/**
 * Reads lines "+ <pid> <start>" and "- <pid>" until the pipe ends; then it kills what is left, each with the
 * group it leads. Linux gives ids out again, so an id that now belongs to a process of another start is left
 * alone. The start time is field 22 of /proc/<pid>/stat (proc_pid_stat(5)).
 */
export const watcher = `
trap '' INT TERM HUP
left=
while read -r sign pid start; do
  kept=
  for each in $left; do [ "\${each%%:*}" = "$pid" ] || kept="$kept $each"; done
  left=$kept
  [ "$sign" = - ] || left="$left $pid:$start"
done
for each in $left; do
  pid=\${each%%:*}
  now=
  if read -r stat < "/proc/$pid/stat"; then set -- \${stat##*) }; now=\${20}; fi
  [ -z "$now" ] || [ "$now" = "\${each#*:}" ] || continue
  kill -s KILL -- "-$pid"
  [ -z "$now" ] || kill -s KILL "$pid"
done 2>/dev/null
`;

export interface ChildWatch {
  /** Children that were started since the watch began and still run, with their groups. */
  running(): readonly number[];
  /** Kills them. */
  endAll(): void;
}

/** One watch serves a worker, although vitest loads its modules anew for each file. */
const place = Symbol.for("parley.child-watch");

export function childWatch(): ChildWatch {
  const global = globalThis as { [place]?: ChildWatch };
  return (global[place] ??= watch());
}

function watch(): ChildWatch {
  /** Start times by id. */
  const pids = new Map<number, string>();
  let isStarting = false;
  let pipe: Writable | null = null;
  const tell = (line: string): void => {
    if (pipe === null) {
      isStarting = true;
      const child = spawn("/bin/sh", ["-c", watcher], {
        detached: true,
        stdio: ["pipe", "ignore", "ignore"],
      });
      isStarting = false;
      child.unref();
      // The tests go on without the watcher: only processes of a killed worker would stay behind.
      child.on("error", () => {});
      pipe = child.stdin.on("error", () => {});
      (pipe as Writable & { unref?(): void }).unref?.();
    }
    pipe.write(`${line}\n`);
  };
  const forget = (pid: number): void => {
    pids.delete(pid);
    tell(`- ${pid}`);
  };

  subscribe("child_process", (message) => {
    if (isStarting) return;
    const { process: child } = message as { readonly process: ChildProcess };
    child.once("spawn", () => {
      const { pid } = child;
      if (pid === undefined) return;
      const start = startOf(pid);
      pids.set(pid, start);
      tell(`+ ${pid} ${start}`);
      child.once("exit", () => {
        if (!isGroup(pid)) forget(pid);
      });
    });
  });
  return {
    running: () => [...pids.keys()],
    endAll() {
      for (const [pid, start] of pids) {
        endGroup(pid, start);
        forget(pid);
      }
    },
  };
}

/** True while processes live in the group of this leader, which may have ended itself. */
function isGroup(leader: number): boolean {
  try {
    process.kill(-leader, 0);
    return true;
  } catch {
    return false; // No such group.
  }
}

/** Kills a process that started at `start`, and the group it leads or led; never a later one with its id. */
export function endGroup(pid: number, start: string): void {
  const now = startOf(pid);
  if (now !== "" && now !== start) return;
  for (const target of now === "" ? [-pid] : [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // It leads no group, or all of it has ended.
    }
  }
}

/** In clock ticks since the machine's start; "" for a process that is gone. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return ""; // Gone, or a system without /proc, where only groups are ended.
  }
}
