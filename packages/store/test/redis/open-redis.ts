// Fresh Redis stores for tests: each under a prefix of its own on one server.
import { setTimeout as wait } from "node:timers/promises";
import { silentLog } from "@parley/protocol";
import type { RedisServer } from "@parley/testkit";
import { type RedisOptions, redisStore, type RedisStore, type Store } from "../../src/index.ts";
import { testClock } from "../clock.ts";
import type { OpenedStore } from "../subject.ts";

let made = 0;

export function redisOptions(server: RedisServer, change: Partial<RedisOptions> = {}): RedisOptions {
  return { url: server.url, keyPrefix: `test-${(made += 1)}`, log: silentLog, bootId: "boot-1", ...change };
}

export async function openRedis(server: RedisServer, handles: number): Promise<OpenedStore> {
  const clock = testClock();
  const options = redisOptions(server, { clock, acceptDataLoss: true });
  const opened: RedisStore[] = [];
  for (let n = 0; n < handles; n += 1) opened.push(await redisStore({ ...options, bootId: `boot-${n}` }));
  return {
    handles: opened,
    clock,
    close: async () => {
      for (const handle of opened) await handle.close();
    },
  };
}

/** Resolves when the store answers again. */
export async function untilBack(store: Store): Promise<void> {
  while (!(await store.check()).ok) await wait(10);
}
