// Opens the state folder while no daemon runs. The first use locks it, so that no daemon can start meanwhile;
// a running daemon makes it refuse.
import { existsSync, rmSync, statSync } from "node:fs";
import type { Config } from "@parley/config";
import {
  Fault,
  type Clock,
  type Ids,
  type Log,
  type MethodParams,
  type MethodResult,
} from "@parley/protocol";
import {
  backupDatabase,
  databaseIdentity,
  lockHome,
  restoreDatabase,
  type HomeLock,
  type Store,
} from "@parley/store";
import { jobPrefix } from "@parley/schedules";
import { sealedBackup } from "../maintenance/database-job.ts";
import { isSealed, unsealFile } from "../maintenance/sealed-file.ts";
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
  readonly ids: Ids;
  readonly log: Log;
}

export function stoppedHome({ config, home, bootId, clock, ids, log }: StoppedHomeOptions): StoppedHome {
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
    async backup({ path, passphrase }) {
      const to = absolute(path);
      claimUsed();
      const database = ownFile(databasePath);
      if (passphrase === undefined) await backupDatabase(database, to);
      else await sealedBackup(database, to, passphrase, ids);
      return { path: to, bytes: statSync(to).size };
    },
    async restore({ path, passphrase, resume = false }) {
      const from = absolute(path);
      claim();
      await closeStore();
      const to = ownFile(databasePath);
      const opened = openedBackup(from, `${to}.opened`, passphrase);
      let restored: ReturnType<typeof restoreDatabase>;
      try {
        restored = restoreDatabase(opened, to, clock.now(), resume ? null : decidedJobs(clock.now()));
      } finally {
        // It is not encrypted.
        if (opened !== from) rmSync(opened, { force: true });
      }
      // A person chose this backup, so any store's is accepted; a store that predates identities gets its own
      // at the next start.
      const identity = databaseIdentity(to);
      if (identity === null) forgetStore(home, "sqlite");
      else rememberStore(home, "sqlite", identity);
      return { path: from, ...restored };
    },
    async close() {
      await closeStore();
      lock?.release();
    },
  };
}

/** A sealed backup is opened beside the database, for as long as it takes. */
function openedBackup(from: string, beside: string, passphrase: string | undefined): string {
  if (!existsSync(from)) throw new Fault("missing", `there is no file ${from}`);
  // A pipe would be waited for.
  if (!statSync(from).isFile())
    throw new Fault("invalid", `${from} is no file: name one that \`parley backup\` wrote`);
  if (!isSealed(from)) return from;
  if (passphrase === undefined)
    throw new Fault("denied", `${from} is encrypted: give its passphrase with --passphrase`);
  rmSync(beside, { force: true });
  unsealFile(from, beside, passphrase);
  return beside;
}

/** Instants of jobs that passed since the backup are not caught up with: they were run then. */
function decidedJobs(nowMs: number): (key: string, value: string) => string | null {
  return (key, value) => {
    if (!key.startsWith(jobPrefix)) return null;
    const job = JSON.parse(value) as { readonly state: { readonly decidedMs: number } };
    const decidedMs = Math.max(job.state.decidedMs, nowMs);
    return JSON.stringify({ ...job, state: { ...job.state, decidedMs } });
  };
}
