// The durable core: its contract, its drivers and the operators' tools for a store. Parts that few processes
// need load only when called.
import type { Moved, MoveOptions } from "./move/open.ts";
import type { RedisOptions, RedisStore } from "./redis/open.ts";

export * from "./store.ts";
export type { Boot } from "./sqlite/boots.ts";
export { type SqliteOptions, type SqliteStore, sqliteStore } from "./sqlite/open.ts";
export { backupDatabase, restoreDatabase } from "./sqlite/file/backup.ts";
export { databaseIdentity } from "./sqlite/file/identity.ts";
export { describeDatabase } from "./sqlite/file/describe.ts";
export { databaseSchema, rehearseMigration } from "./sqlite/file/rehearse.ts";
export type { RedisAddress } from "./redis/connection.ts";
export type { DeadLeases, RedisOptions, RedisStore } from "./redis/open.ts";
export { type HomeLock, lockHome } from "./sqlite/file/home-lock.ts";
export type { Moved, MoveOptions } from "./move/open.ts";
export { moveCell } from "./move/records.ts";

export const redisStore = async (options: RedisOptions): Promise<RedisStore> =>
  (await import("./redis/open.ts")).redisStore(options);
export const moveBetween = async (options: MoveOptions): Promise<Moved> =>
  (await import("./move/open.ts")).moveBetween(options);
