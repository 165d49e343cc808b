// Opens the two stores of a move.
import { existsSync } from "node:fs";
import { Fault, type Clock, type Log } from "@parley/protocol";
import { connect, type RedisAddress } from "../redis/connection.ts";
import { checkServer } from "../redis/start-check.ts";
import { sqliteStore } from "../sqlite/open.ts";
import { moveStore, type MovedKind } from "./move.ts";
import type { Kind } from "./records.ts";
import { redisSide } from "./redis-side.ts";
import { sqliteSide } from "./sqlite-side.ts";

export interface MoveOptions {
  readonly to: "redis" | "sqlite";
  readonly database: string;
  readonly redis: RedisAddress & { readonly keyPrefix: string; readonly acceptDataLoss: boolean };
  readonly tell?: (kind: Kind, count: number) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Throws Fault as both stores do when they cannot be opened, and as `moveStore`. No gateway may run on either. */
export async function moveBetween({ to, database, redis, tell, clock, log }: MoveOptions): Promise<readonly MovedKind[]> {
  if (to === "redis" && !existsSync(database))
    throw new Fault("missing", `there is no database at ${database}: there is nothing to take along`);
  // Brings an older file up to date, makes a new one, and refuses a damaged one.
  const opened = await sqliteStore({ path: database, bootId: "move", exclusive: false, onFatal: () => {}, clock, log });
  await opened.close();
  const connection = await connect({ ...redis, log });
  try {
    await checkServer(connection, { ...redis, log });
  } catch (error) {
    await connection.close();
    throw error;
  }
  const nowMs = (): number => clock.now();
  const [inRedis, inFile] = [redisSide(connection, nowMs), sqliteSide(database, nowMs)];
  try {
    return to === "redis" ? await moveStore(inFile, inRedis, tell) : await moveStore(inRedis, inFile, tell);
  } finally {
    await inFile.close();
    await inRedis.close();
  }
}
