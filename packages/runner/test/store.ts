// A real store in memory for the tests beside it.
import { silentLog, type Clock } from "@parley/protocol";
import { sqliteStore, type SqliteStore } from "@parley/store";

export function memoryStore(clock: Clock): Promise<SqliteStore> {
  return sqliteStore({
    path: ":memory:",
    bootId: "boot",
    clock,
    log: silentLog,
    onFatal: (error) => {
      throw error;
    },
  });
}
