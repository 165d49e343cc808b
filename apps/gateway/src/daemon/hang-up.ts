// Handles SIGHUP: reloads the config, as daemons do. When the terminal of a daemon that was started by hand
// closed, it stops like SIGTERM instead, because nobody is left who would stop it.
import { closeSync, openSync } from "node:fs";
import type { Daemon } from "./daemon.ts";

/** Call it early: before it, SIGHUP ends the process at once. */
export function onHangUp(
  starting: Promise<Pick<Daemon, "reload">>,
  stop: (signal: NodeJS.Signals) => void,
): void {
  const hadTerminal = process.stderr.isTTY === true;
  process.on("SIGHUP", (signal) => {
    if (hadTerminal && !hasTerminal()) return stop(signal);
    // A daemon that cannot start reports that itself.
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
