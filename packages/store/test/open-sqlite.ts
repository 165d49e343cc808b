// Fresh SQLite stores for tests: on a file of their own, removed when closed.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "@parley/protocol";
import { folderInMemory } from "@parley/testkit";
import { sqliteStore, type SqliteOptions, type SqliteStore } from "../src/index.ts";
import { testClock } from "./clock.ts";
import type { OpenedStore } from "./subject.ts";

export function tempDir(): string {
  return folderInMemory("store");
}

export function options(path: string, change: Partial<SqliteOptions> = {}): SqliteOptions {
  const onFatal = (error: unknown): void => {
    throw error;
  };
  return { path, clock: testClock(), log: silentLog, bootId: "boot-1", onFatal, ...change };
}

export async function openSqlite(handles: number): Promise<OpenedStore> {
  const dir = tempDir();
  const clock = testClock();
  const opened: SqliteStore[] = [];
  // A handle alone enters the history of boots, as the daemon's does.
  const exclusive = handles === 1;
  for (let i = 0; i < handles; i += 1)
    opened.push(await sqliteStore(options(join(dir, "state.db"), { clock, exclusive, bootId: `boot-${i}` })));
  return {
    handles: opened,
    clock,
    close: async () => {
      for (const handle of opened) await handle.close();
      rmSync(dir, { recursive: true });
    },
  };
}
