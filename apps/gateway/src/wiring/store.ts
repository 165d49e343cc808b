// Opens the store and the bus between processes that the config names: state.db without a bus, or Redis with
// BullMQ.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config, RedisConfig } from "@parley/config";
import { Fault, type Clock, type Ids, type Log } from "@parley/protocol";
import { bullNotifier, localNotifier, redisBus, silentBus, type Bus, type WorkNotifier } from "@parley/queue";
import { rememberedStore, rememberStore } from "./store-memory.ts";
import {
  moveCell,
  redisStore,
  sqliteStore,
  type Boot,
  type DeadLeases,
  type RedisAddress,
  type Store,
} from "@parley/store";

export interface StoreWiring {
  readonly config: Pick<Config, "store">;
  readonly home: string;
  readonly bootId: string;
  /**
   * True for the daemon, which has the home's lock. An operator's look changes neither leases nor boot
   * history.
   */
  readonly exclusive: boolean;
  /** Name of this process among those of one store; absent for an operator's look. */
  readonly node?: string;
  readonly onFatal: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface WiredStore extends Store {
  /** The database file; null where a server keeps the data. */
  readonly file: string | null;
  /** True when the previous boot did not close the file, which has passed a quick check since. */
  readonly unclean: boolean;
  /** Boots of this home; newest first, at most 50. */
  bootHistory(): Promise<readonly Boot[]>;
  /** Frees leases of dead processes; a store of one process does that by itself. */
  freeLeases(of: DeadLeases): Promise<number>;
}

/** Null where another server keeps the data. */
export function databaseFile(config: Pick<Config, "store">, home: string): string | null {
  return config.store.driver === "sqlite" ? join(home, "state.db") : null;
}

/** Throws Fault when the store cannot be used, with what to do. */
export async function wireStore({
  config,
  home,
  exclusive,
  node,
  onFatal,
  ...ports
}: StoreWiring): Promise<WiredStore> {
  const { redis } = config.store;
  const file = databaseFile(config, home);
  const { driver } = config.store;
  const remembered = rememberedStore(home, driver);
  const known = <S extends { readonly identity: string }>(store: S): S => {
    if (exclusive) rememberStore(home, driver, store.identity);
    return store;
  };
  if (file !== null) {
    const store = known(await sqliteStore({ ...ports, ...remembered, path: file, exclusive, onFatal }));
    await refuseHalf(store, "sqlite");
    return { ...store, file, freeLeases: async () => 0 };
  }
  if (redis === undefined) throw new Fault("invalid", "store.redis.url is missing");
  const { keyPrefix, acceptDataLoss } = redis;
  const { bootId, log } = ports;
  // Redis' own time counts, one for all nodes. A failed call rejects to its caller and never ends the
  // process.
  const store = known(
    await redisStore({
      ...(await addressOf(redis)),
      ...remembered,
      keyPrefix,
      acceptDataLoss,
      bootId,
      log,
      ...(exclusive && node !== undefined ? { node: `${node}:${home}` } : {}),
    }),
  );
  await refuseHalf(store, "redis");
  return { ...store, file, unclean: false };
}

/** Refuses a copy that `parley migrate` did not finish. */
async function refuseHalf(store: Store, driver: string): Promise<void> {
  if ((await store.cells.get(moveCell)) === null) return;
  await store.close();
  throw new Fault(
    "invalid",
    `the store is half a copy: run \`parley migrate --to ${driver}\` again, it goes on where it stopped`,
  );
}

/** `pools`: those that this process works on. */
export async function wireWorkNotifier(
  { store: { redis, driver } }: Pick<Config, "store">,
  {
    store,
    pools,
    clock,
    log,
  }: { readonly store: Store; readonly pools: readonly string[]; readonly clock: Clock; readonly log: Log },
): Promise<WorkNotifier> {
  if (driver === "sqlite" || redis === undefined) return localNotifier(store.onReady);
  return bullNotifier({
    ...(await addressOf(redis)),
    keyPrefix: redis.keyPrefix,
    pools,
    source: store.onReady,
    clock,
    log,
  });
}

/**
 * Returns the address of the config's Redis for `parley migrate`, whichever driver is in force. Throws
 * Fault("invalid") where there is none.
 */
export async function redisOf({
  store: { redis },
}: Pick<Config, "store">): Promise<RedisAddress & Pick<RedisConfig, "keyPrefix" | "acceptDataLoss">> {
  if (redis === undefined)
    throw new Fault(
      "invalid",
      "store.redis.url is missing: say where Redis is before anything can be taken there or from there",
    );
  return { ...(await addressOf(redis)), keyPrefix: redis.keyPrefix, acceptDataLoss: redis.acceptDataLoss };
}

/** Opens that Redis for an operator's look, whichever driver is in force. */
export async function lookIntoRedis(config: Pick<Config, "store">, bootId: string, log: Log): Promise<Store> {
  return redisStore({ ...(await redisOf(config)), bootId, log });
}

/** A process that has the store to itself has no other nodes to talk to. */
export async function wireBus(
  { store: { redis, driver } }: Pick<Config, "store">,
  ids: Ids,
  log: Log,
): Promise<Bus> {
  if (driver === "sqlite" || redis === undefined) return silentBus;
  return redisBus({ ...(await addressOf(redis)), keyPrefix: redis.keyPrefix, ids, log });
}

async function addressOf({ url, tls }: RedisConfig): Promise<RedisAddress> {
  if (tls === undefined) return { url: url.reveal() };
  const [ca, cert, key] = await Promise.all([
    pem("caFile", tls.caFile),
    pem("certFile", tls.certFile),
    pem("keyFile", tls.keyFile),
  ]);
  const given = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
  return { url: url.reveal(), tls: given };
}

async function pem(name: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Fault("invalid", `store.redis.tls.${name}: ${path} cannot be read (${why})`, { cause });
  }
}
