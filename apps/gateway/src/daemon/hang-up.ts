// SIGHUP: takes up the config again, as daemons do. When it tells that the terminal was closed under a daemon
// started by hand, it stops like SIGTERM instead: nobody is left who would.
import { closeSync, openSync } from "node:fs";
import type { Daemon } from "./daemon.ts";

/** To be called early: before it, SIGHUP ends the process at once. */
export function onHangUp(
  starting: Promise<Pick<Daemon, "reload">>,
  stop: (signal: NodeJS.Signals) => void,
): void {
  const hadTerminal = process.stderr.isTTY === true;
  process.on("SIGHUP", (signal) => {
    if (hadTerminal && !hasTerminal()) return stop(signal);
    // A daemon that cannot start says so by itself.
    starting.then((daemon) => daemon.reload(signal)).catch(() => {});
  });
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}
