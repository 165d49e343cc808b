// Pings systemd's watchdog while the daemon lives: from the event loop, and only after the store answered. A
// store that answers with trouble (a full disk) counts as alive, because a restart would not heal it.
import type { Clock } from "@parley/protocol";
import type { Store } from "@parley/store";
import type { Notify } from "./notify.ts";

/**
 * Milliseconds between pings, half of what systemd allows; null when it watches nobody or another process
 * (sd_watchdog_enabled(3)).
 */
export function watchdogEveryMs(
  env: { readonly [name: string]: string | undefined },
  pid: number,
): number | null {
  const allowedUsec = Number(env["WATCHDOG_USEC"] ?? 0);
  const watched = env["WATCHDOG_PID"];
  if (!(allowedUsec > 0) || (watched !== undefined && watched !== String(pid))) return null;
  return allowedUsec / 2_000;
}

/** Returns a function that stops it. */
export function keepWatchdog(
  everyMs: number | null,
  store: Pick<Store, "check">,
  notify: Notify,
  clock: Clock,
): () => void {
  if (everyMs === null) return () => {};
  let stopped = false;
  const ping = async (): Promise<void> => {
    await store.check();
    if (stopped) return;
    notify("WATCHDOG=1");
    timer = clock.after(everyMs, () => void ping());
  };
  let timer = clock.after(everyMs, () => void ping());
  return () => {
    stopped = true;
    timer.cancel();
  };
}
