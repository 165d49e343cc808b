// The store of a process in the kill loop: a path is SQLite's file, "redis:<address>#<prefix>" a Redis that
// may be away for a moment. What certainly may be asked again is asked again, as the gateway's holders do.
import { type Clock, isFault, silentLog, sleep } from "@parley/protocol";
import { redisStore, sqliteStore, type Store } from "../../src/index.ts";

export async function openStore(
  place: string,
  { clock, bootId }: { readonly clock: Clock; readonly bootId: string },
): Promise<Store> {
  if (place.startsWith("redis:")) {
    const [url = "", keyPrefix = ""] = place.slice("redis:".length).split("#");
    return patient(
      await insistent(clock, () => redisStore({ url, keyPrefix, bootId, log: silentLog })),
      clock,
    );
  }
  const onFatal = (error: unknown): void => {
    throw error;
  };
  return sqliteStore({ path: place, clock, log: silentLog, bootId, onFatal });
}

function patient(store: Store, clock: Clock): Store {
  const port = <T extends object>(on: T): T =>
    new Proxy(on, {
      get: (target, verb) => {
        const run = Reflect.get(target, verb) as (...args: readonly unknown[]) => Promise<unknown>;
        return (...args: readonly unknown[]) => insistent(clock, () => run(...args));
      },
    });
  return { ...store, inbox: port(store.inbox), turns: port(store.turns), outbox: port(store.outbox) };
}

async function insistent<T>(clock: Clock, run: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!isFault(error, "unavailable")) throw error;
      await sleep(clock, 20);
    }
  }
}
