// Opens both stores of a move between SQLite and Redis.
import { existsSync } from "node:fs";
import { Fault, type Clock, type Log } from "@parley/protocol";
import { connect, type RedisAddress } from "../redis/connection.ts";
import { checkServer } from "../redis/start-check.ts";
import { identify } from "../redis/open.ts";
import { sqliteStore } from "../sqlite/open.ts";
import { moveStore, type MovedKind } from "./move.ts";
import type { Kind } from "./records.ts";
import type { ExpectedStore } from "../store.ts";
import { redisSide } from "./redis-side.ts";
import { sqliteSide } from "./sqlite-side.ts";

export interface MoveOptions {
  readonly to: "redis" | "sqlite";
  readonly database: string;
  readonly redis: RedisAddress & { readonly keyPrefix: string; readonly acceptDataLoss: boolean };
  /** The store to copy from, where the home remembers one. */
  readonly expected?: ExpectedStore;
  readonly tell?: (kind: Kind, count: number) => void;
  /** Identity to use when the target store is created in Redis; must be unique. */
  readonly fresh: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Moved {
  readonly kinds: readonly MovedKind[];
  /** Identity of the store that was copied into. */
  readonly identity: string;
}

/** Throws the Faults of opening either store and those of `moveStore`. No gateway may run on either store. */
export async function moveBetween({
  to,
  database,
  redis,
  expected,
  fresh,
  tell,
  clock,
  log,
}: MoveOptions): Promise<Moved> {
  if (to === "redis" && !existsSync(database))
    throw new Fault("missing", `there is no database at ${database}: there is nothing to take along`);
  // Also migrates an older file, creates a missing one, and refuses a damaged one.
  const opened = await sqliteStore({
    ...(to === "redis" && expected !== undefined ? { expected } : {}),
    path: database,
    bootId: "move",
    exclusive: false,
    onFatal: () => {},
    clock,
    log,
  });
  await opened.close();
  const connection = await connect({ ...redis, log });
  let redisIdentity: string;
  try {
    await checkServer(connection, { ...redis, log });
    redisIdentity = await identify(
      connection,
      to === "sqlite" ? expected : undefined,
      to === "redis" ? fresh : undefined,
    );
  } catch (error) {
    await connection.close();
    throw error;
  }
  const nowMs = (): number => clock.now();
  const [inRedis, inFile] = [redisSide(connection, nowMs), sqliteSide(database, nowMs)];
  try {
    const kinds =
      to === "redis" ? await moveStore(inFile, inRedis, tell) : await moveStore(inRedis, inFile, tell);
    return { kinds, identity: to === "redis" ? redisIdentity : opened.identity };
  } finally {
    await inFile.close();
    await inRedis.close();
  }
}
