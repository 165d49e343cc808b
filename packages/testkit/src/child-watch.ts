// Ends the processes that tests start and leave behind: redis-server, a browser, a daemon. Node itself
// reports every child, so that no helper has to think of it. A watcher process gets their ids and ends them
// when the pipe to the test worker breaks, which happens however the worker dies.
import { type ChildProcess, spawn } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import type { Writable } from "node:stream";

/**
 * Lines "+ <pid>" and "- <pid>" until the pipe ends; then what is left is killed, each with the group it
 * leads.
 */
const watcher = `
trap '' INT TERM HUP
pids=
while read -r sign pid; do
  left=
  for each in $pids; do [ "$each" = "$pid" ] || left="$left $each"; done
  pids=$left
  [ "$sign" = - ] || pids="$pids $pid"
done
for pid in $pids; do kill -s KILL -- "-$pid"; kill -s KILL "$pid"; done 2>/dev/null
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
  const pids = new Set<number>();
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
      pids.add(pid);
      tell(`+ ${pid}`);
      child.once("exit", () => {
        if (!isGroup(pid)) forget(pid);
      });
    });
  });
  return {
    running: () => [...pids],
    endAll() {
      for (const pid of pids) {
        for (const target of [-pid, pid]) {
          try {
            process.kill(target, "SIGKILL");
          } catch {
            // It leads no group, or all of it has ended.
          }
        }
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
