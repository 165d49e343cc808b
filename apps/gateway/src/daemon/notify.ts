// Tells systemd the daemon's state (sd_notify). Node cannot write to the notify socket itself, so systemd's
// own program does it; without NOTIFY_SOCKET or systemd nothing happens.
import { spawn } from "node:child_process";
import type { Log } from "@parley/protocol";

type NotifyState = "READY=1" | "RELOADING=1" | "STOPPING=1" | "WATCHDOG=1";

export type Notify = (state: NotifyState) => void;

/** `socket` and `watchdogUsec` are NOTIFY_SOCKET and WATCHDOG_USEC. */
export function systemdNotify(env: { readonly [name: string]: string | undefined }, log: Log): Notify {
  const socket = env["NOTIFY_SOCKET"];
  if (socket === undefined || socket === "") return () => {};
  return (state) => {
    const child = spawn("systemd-notify", [state], {
      stdio: "ignore",
      env: { PATH: env["PATH"], NOTIFY_SOCKET: socket },
    });
    child.on("error", (error) => log.warn({ error, state }, "could not notify systemd"));
    child.unref();
  };
}
