// The durable core: its contract, the embedded driver, and what stands beside it for operators.
export * from "./store.ts";
export { type Boot } from "./sqlite/boots.ts";
export { type SqliteOptions, type SqliteStore, sqliteStore } from "./sqlite/open.ts";
export { backupDatabase, restoreDatabase } from "./sqlite/backup.ts";
export { type DatabaseDescription, describeDatabase } from "./sqlite/describe.ts";
export { type RedisAddress } from "./redis/connection.ts";
export { type DeadLeases, type RedisOptions, type RedisStore, redisStore } from "./redis/open.ts";
export { type HomeLock, lockHome } from "./sqlite/home-lock.ts";
export { type MovedKind } from "./move/move.ts";
export { moveBetween, type MoveOptions } from "./move/open.ts";
export { type Kind, moveCell } from "./move/records.ts";
