// Opens the store for this process: counted for the metrics from its first call, with the leases of a dead
// predecessor freed before anything is taken (I3). A file that was not closed properly is fully checked while
// the daemon already works.
import type { Config } from "@parley/config";
import type { Clock, Log } from "@parley/protocol";
import type { DatabaseJobs } from "../maintenance/database-jobs.ts";
import { fullCheck } from "../maintenance/full-check.ts";
import type { GatewayMetrics } from "../metrics/gateway-metrics.ts";
import { freeLeaders, type NodePlace } from "@parley/cluster";
import { settleTrial } from "@parley/runner";
import { wireStore, type WiredStore } from "../wiring/store.ts";

export interface OpenStoreOptions {
  readonly config: Pick<Config, "store">;
  readonly home: string;
  readonly place: NodePlace;
  readonly bootId: string;
  readonly metrics: Pick<GatewayMetrics, "store">;
  readonly jobs: Pick<DatabaseJobs, "check">;
  /** Called when the store can no longer be trusted: the process has to end. */
  readonly onFatal: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface OpenedStore {
  readonly store: WiredStore;
  /** Returns what the full check found; null while that is nothing. */
  readonly damage: () => string | null;
}

/** Call it with the home's lock only. Throws Fault when the store cannot be used, with what to do. */
export async function openStore({ place, metrics, jobs, ...wiring }: OpenStoreOptions): Promise<OpenedStore> {
  const { bootId, log } = wiring;
  const store = metrics.store(await wireStore({ ...wiring, exclusive: true, node: place.name }));
  if (place.deadBoot !== null) await freeDead(store, place.deadBoot, log);
  if (place.deadBoot !== null) {
    const before = (await store.bootHistory()).find(({ boot }) => boot === place.deadBoot);
    const endedWell = before !== undefined && before.stoppedAtMs !== null;
    await settleTrial(store.cells, place.deadBoot, endedWell ? null : wiring.clock.now());
  }
  place.settle(bootId);
  return {
    store,
    damage: store.unclean && store.file !== null ? fullCheck(jobs, store.file, log) : () => null,
  };
}

/** The lock proves that the previous process of this place is dead, so its leases are free at once. */
async function freeDead(store: WiredStore, boot: string, log: Log): Promise<void> {
  const leases = await store.freeLeases({ holder: boot });
  await freeLeaders(store.cells, boot);
  if (leases > 0) log.info({ boot, leases }, "freed what the process before this one held");
}
