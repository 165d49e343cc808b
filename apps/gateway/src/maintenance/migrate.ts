// Implements `parley migrate --to redis|sqlite`: copies everything from one store into the other while no
// gateway runs. It may be stopped and run again.
import type { Writable } from "node:stream";
import { join } from "node:path";
import { secretValues, type LoadedConfig } from "@parley/config";
import { Fault, type Clock, type Ids } from "@parley/protocol";
import { lockHome, moveBetween, type Store } from "@parley/store";
import { logger } from "../log/logger.ts";
import type { NodeLine } from "@parley/cluster";
import { rememberedStore, rememberStore } from "../wiring/store-memory.ts";
import { lookIntoRedis, redisOf } from "../wiring/store.ts";

export interface MigrateOptions extends LoadedConfig {
  readonly to: string | undefined;
  readonly output: Writable;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Longer than the three seconds between two lines of a running node. */
const silentMs = 15_000;

/** Throws Fault: "conflict" while a gateway runs on either store, and whatever the stores throw. */
export async function migrate({ to, output, clock, ids, config, places }: MigrateOptions): Promise<void> {
  if (to !== "redis" && to !== "sqlite")
    throw new Fault("invalid", "parley migrate --to redis, or --to sqlite");
  const { log } = await logger({ level: "warn", pretty: false, secrets: secretValues(config) });
  const lock = lockHome(places.home, process.pid);
  try {
    const redis = await redisOf(config);
    await refuseRunning(await lookIntoRedis(config, "migrate", log), clock);
    const database = join(places.home, "state.db");
    const { kinds: moved, identity } = await moveBetween({
      ...rememberedStore(places.home, to === "redis" ? "sqlite" : "redis"),
      fresh: ids.uuid(),
      to,
      database,
      redis,
      tell: (kind, count) => {
        if (count % 10_000 === 0 && count > 0) output.write(`${kind}: ${count}\n`);
      },
      clock,
      log,
    });
    rememberStore(places.home, to, identity);
    const what = moved
      .filter(({ kind, count }) => count > 0 && kind !== "counters")
      .map(({ kind, count }) => `${count} ${kind}`);
    output.write(`Copied and compared: ${what.join(", ") || "nothing was there"}.\n`);
    if (config.store.driver !== to)
      output.write(
        `Now set store.driver to "${to}" and start the gateway. The old store is left as it is.\n`,
      );
  } finally {
    lock.release();
  }
}

async function refuseRunning(store: Store, clock: Clock): Promise<void> {
  try {
    for (const { value, expiresAtMs } of await store.cells.list("node:", 1_000)) {
      const { node, state } = JSON.parse(value) as NodeLine;
      const writtenAtMs = (expiresAtMs ?? 0) - 24 * 3_600_000;
      if (state !== "gone" && Math.abs(clock.now() - writtenAtMs) < silentMs)
        throw new Fault(
          "conflict",
          `the node ${node} runs on this Redis: stop every node first (parley nodes); one that was killed counts as gone after ${silentMs / 1_000} s`,
        );
    }
  } finally {
    await store.close();
  }
}
