// Opens the state folder while no daemon runs. The first use locks it, so that no daemon can start meanwhile;
// a running daemon makes it refuse.
import { existsSync, statSync } from "node:fs";
import type { Config } from "@parley/config";
import { Fault, type Clock, type Log, type MethodParams, type MethodResult } from "@parley/protocol";
import {
  backupDatabase,
  databaseIdentity,
  lockHome,
  restoreDatabase,
  type HomeLock,
  type Store,
} from "@parley/store";
import { absolute, ownFile } from "../operator/backup.ts";
import { forgetStore, rememberedStore, rememberStore } from "../wiring/store-memory.ts";
import { databaseFile, wireStore } from "../wiring/store.ts";

export interface StoppedHome {
  /** Throws Fault: "conflict" while a daemon runs, "missing" where none ever ran. */
  store(): Promise<Store>;
  backup(params: MethodParams<"backup">): Promise<MethodResult<"backup">>;
  /** The old file is kept beside the new one. */
  restore(params: MethodParams<"restore">): Promise<MethodResult<"restore">>;
  close(): Promise<void>;
}

export interface StoppedHomeOptions {
  readonly config: Pick<Config, "store">;
  readonly home: string;
  readonly bootId: string;
  readonly clock: Clock;
  readonly log: Log;
}

export function stoppedHome({ config, home, bootId, clock, log }: StoppedHomeOptions): StoppedHome {
  const databasePath = databaseFile(config, home);
  let lock: HomeLock | null = null;
  let opened: Promise<Store> | null = null;

  const claim = (): void => {
    // A store on a server is shared by processes, so it needs no lock of this folder.
    if (databasePath !== null) lock ??= lockHome(home, process.pid);
  };
  const claimUsed = (): void => {
    if (
      databasePath !== null &&
      !existsSync(databasePath) &&
      rememberedStore(home, "sqlite").expected === undefined
    )
      throw new Fault("missing", `there is no database in ${home}: no gateway has run there yet`);
    claim();
  };
  const closeStore = async (): Promise<void> => {
    const closing = opened;
    opened = null;
    // A store that failed to open has nothing to close, and its caller got the error.
    const store = await closing?.catch(() => null);
    await store?.close();
  };

  return {
    store() {
      claimUsed();
      opened ??= wireStore({ config, home, bootId, exclusive: false, onFatal: () => {}, clock, log });
      return opened;
    },
    async backup({ path }) {
      const to = absolute(path);
      claimUsed();
      await backupDatabase(ownFile(databasePath), to);
      return { path: to, bytes: statSync(to).size };
    },
    async restore({ path }) {
      const from = absolute(path);
      claim();
      await closeStore();
      const to = ownFile(databasePath);
      const keptAs = restoreDatabase(from, to, clock.now());
      // A person chose this backup, so any store's is accepted; a store that predates identities gets its own
      // at the next start.
      const identity = databaseIdentity(to);
      if (identity === null) forgetStore(home, "sqlite");
      else rememberStore(home, "sqlite", identity);
      return { path: from, keptAs };
    },
    async close() {
      await closeStore();
      lock?.release();
    },
  };
}
