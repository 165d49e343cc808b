// Lets parts ask for a reload before all of them exist: until `begin` it refuses, because what is starting
// reads its config anyway.
import type { LoadedConfig } from "@parley/config";
import { Fault, type Clock, type Log } from "@parley/protocol";
import type { Pools } from "@parley/queue";
import { reloader, type Reloader } from "../reload/reloader.ts";
import { takeUp } from "../reload/take-up.ts";
import type { Parts } from "./parts.ts";
import { channelHand } from "./channels.ts";
import type { DaemonLog } from "../log/daemon-log.ts";

/** The running parts that a reload changes. */
interface Reloadable extends Pick<DaemonLog, "hide" | "setLevel"> {
  /** The config that the daemon started with. */
  readonly loaded: LoadedConfig;
  readonly env: { readonly [name: string]: string | undefined };
  readonly parts: Parts;
  readonly pools: Pools;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Reloading extends Reloader {
  /** Starts watching the config and applying it. */
  begin(running: Reloadable): void;
}

export function reloading(clock: Clock): Reloading {
  const startedAtMs = clock.now();
  let begun: Reloader | null = null;
  return {
    async reload(cause) {
      if (begun === null)
        throw new Fault("unavailable", "the gateway is just starting, and reads its config anyway");
      return begun.reload(cause);
    },
    state: () => begun?.state() ?? { takenAtMs: startedAtMs, problems: [], restartNeeded: [] },
    counts: () => begun?.counts() ?? { taken: 0, refused: 0 },
    stop: async () => begun?.stop(),
    begin(running) {
      begun = reloaderOf(running);
    },
  };
}

function reloaderOf({ loaded, env, parts, pools, hide, setLevel, clock, log }: Reloadable): Reloader {
  const { wired, workNotifier, pathOf, use, isLed, cluster } = parts;
  return reloader({
    loaded,
    env,
    takeUp: takeUp({
      ...channelHand(parts, log),
      wired,
      workNotifier,
      build: pathOf,
      use,
      isLed,
      changeLed: async (account, after) => cluster?.change(account, after),
      pools: () => pools,
      hide,
      setLevel,
      clock,
      log,
    }),
    clock,
    log,
  });
}
