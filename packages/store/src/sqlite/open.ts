// The embedded driver: opens state.db and builds the ports. It uses WAL with synchronous=FULL, so that
// everything a caller was told is on disk.
import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "@parley/protocol";
import type { Clock, Log } from "@parley/protocol";
import { countedUpTo, eventsKept } from "../limits.ts";
import type { ExpectedStore, Store } from "../store.ts";
import { acceptRows } from "./accept.ts";
import { type Boot, bootHistory } from "./boots.ts";
import { backupDatabase } from "./file/backup.ts";
import { cellTable, sqliteCells } from "./cells.ts";
import { deliveryTable } from "./delivery-record.ts";
import { sqliteEvents } from "./events.ts";
import { filesInPlace } from "./file/files-in-place.ts";
import { identityIn, databaseIdentity, refuseOther } from "./file/identity.ts";
import { damagedFault, openFault } from "./failure.ts";
import { sqliteInbox } from "./inbox.ts";
import { laneTable } from "./lanes.ts";
import { storeMemory } from "./memory.ts";
import { checkedVersion, migrate } from "./migrate.ts";
import { sqliteOutbox } from "./outbox.ts";
import { postDeliveries } from "./post.ts";
import { redactWith } from "./redact.ts";
import { retention } from "./retention.ts";
import { migrations } from "./schema.ts";
import type { Scope } from "./scope.ts";
import { scrubWith } from "./scrub.ts";
import { sessionTable, sqliteSessions } from "./sessions.ts";
import { query, transactionWords } from "./statements.ts";
import { lockBlocksMs, transactions } from "./transaction.ts";
import { commitTurn } from "./turn-commit.ts";
import { turnTable } from "./turn-record.ts";
import { sqliteTurns } from "./turns.ts";

export interface SqliteOptions {
  /** Path of the file, created when missing; `:memory:` for tests. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly bootId: string;
  /**
   * The caller holds the home lock, so all older leases are void at once and this boot enters the history.
   */
  readonly exclusive?: boolean;
  /**
   * Called once after a disk error inside a transaction. The process must end, because later successes prove
   * nothing.
   */
  readonly onFatal: (error: unknown) => void;
  /** Events kept for replay; default 10,000. */
  readonly eventsKept?: number;
  /** The store that must be there. Absent: any store is accepted, and one is created where there is none. */
  readonly expected?: ExpectedStore;
}

export interface SqliteStore extends Store {
  /** The same in every copy of this store, and in no other store. */
  readonly identity: string;
  /** True when the boot before this one did not close the store; the file has passed a quick check since. */
  readonly unclean: boolean;
  /** Newest first, at most 50, including this boot when the store is exclusive. */
  bootHistory(): Promise<readonly Boot[]>;
}

interface Count {
  readonly n: number;
}

/**
 * Throws Fault("invalid" | "unsupported" | "unavailable") with the file and the next step when it cannot be
 * used. Throws Fault("conflict") when it is not the expected store; then nothing was created or changed.
 */
export async function sqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  if (options.expected !== undefined) refuseOther(options.path, options.expected);
  const db = connect(options.path);
  try {
    await keepOlder(db, options);
    migrate(db, options.path);
    return portsOn(db, options);
  } catch (error) {
    db.close();
    throw openFault(options.path, error);
  }
}

/**
 * Copies a file of an older schema before migrating it, so that people can go back to the Parley that wrote
 * it.
 */
async function keepOlder(db: DatabaseSync, { path, clock, log }: SqliteOptions): Promise<void> {
  const version = path === ":memory:" ? 0 : checkedVersion(db, path);
  if (version === 0 || version === migrations.length) return;
  const copy = `${path}.schema-${version}-${clock.now()}`;
  await backupDatabase(path, copy);
  log.info({ copy, schema: version }, "the database is copied before it is brought to a newer schema");
}

function connect(path: string): DatabaseSync {
  try {
    // Created here, so that the file is private from its first byte; SQLite gives its side files the same
    // mode.
    if (path !== ":memory:") closeSync(openSync(path, "a", 0o600));
    const db = new DatabaseSync(path, { timeout: 5000 });
    try {
      db.exec(
        "pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma journal_size_limit = 67108864",
      );
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  } catch (error) {
    if (error instanceof Error && "syscall" in error) {
      throw new Fault(
        "unavailable",
        `${path} cannot be opened (${error.message}): check that its folder exists and is yours`,
        {
          cause: error,
        },
      );
    }
    throw openFault(path, error);
  }
}

function portsOn(db: DatabaseSync, options: SqliteOptions): SqliteStore {
  const { clock, log, bootId, path } = options;
  const connection = {
    exec: transactionWords(db),
    get isTransaction() {
      return db.isTransaction;
    },
  };
  const memory = storeMemory(db);
  const tx = transactions(connection, {
    onFatal(error) {
      log.error({ path, error }, "the database failed under a transaction");
      options.onFatal(error);
    },
    gone: path === ":memory:" ? () => null : filesInPlace(path),
    onUndone: () => memory.clear(),
    onOpen: () => memory.doubt(),
    clock,
  });
  const scope: Scope = { db, clock, tx, memory };
  const boots = bootHistory(scope);
  const unclean = options.exclusive === true && enter(db, options, boots);

  const lanes = laneTable(scope, "i");
  const conversations = laneTable(scope, "o");
  const deliveries = deliveryTable(scope);
  const turns = turnTable(scope);
  const sessions = sessionTable(scope);
  const cells = cellTable(scope);
  const accept = acceptRows(scope, lanes);
  const post = postDeliveries(scope, conversations, deliveries);
  const commit = commitTurn(scope, { lanes, turns, sessions, cells, post, accept });
  const sweep = retention(scope);
  const deadRows = query<Count>(
    db,
    "select count(*) as n from (select 1 from rows where outcome = 'dead' and dismissed = 0 limit ?)",
  );
  const troubled = query<Count>(
    db,
    "select count(*) as n from (select 1 from deliveries where troubled = 1 limit ?)",
  );
  const probe = query<{ readonly n: number }>(
    db,
    "update counters set n = n + 1 where name = 'probe' returning n",
  );
  const identity = identityIn(db) ?? "";
  // Nobody was served until here. From now on callers wait for a lock without blocking the event loop.
  db.exec(`pragma busy_timeout = ${lockBlocksMs}`);

  /** A new connection reads what the next start would read, even after the file was overwritten in place. */
  const refuseOverwritten = (): void => {
    if (path === ":memory:" || databaseIdentity(path) === identity) return;
    throw new Fault(
      "invalid",
      `${path} was overwritten while Parley was running: stop Parley and restore a backup`,
    );
  };

  return {
    identity,
    unclean,
    bootHistory: () => tx.read(() => boots.list()),
    inbox: sqliteInbox(scope, lanes, accept),
    turns: sqliteTurns(scope, { lanes, turns, sessions, cells, post, accept, commit }),
    outbox: sqliteOutbox(scope, conversations, deliveries, post, cells),
    sessions: sqliteSessions(scope, sessions),
    cells: sqliteCells(scope, cells),
    events: sqliteEvents(scope, options.eventsKept ?? eventsKept),
    onReady: (wake) => tx.onReady(wake),
    troubled: () =>
      tx.read(() => ({
        rows: deadRows.get(countedUpTo)?.n ?? 0,
        deliveries: troubled.get(countedUpTo)?.n ?? 0,
      })),
    sweep: (limit) => tx.run(() => sweep(limit)),
    redact: redactWith(scope),
    scrub: scrubWith(scope),
    check: () =>
      tx
        .run(() => probe.get())
        .then(refuseOverwritten)
        .then(
          () => ({ ok: true }),
          (error: unknown) => ({ ok: false, reason: error instanceof Error ? error.message : String(error) }),
        ),
    close: async () => {
      if (!db.isOpen) return;
      if (options.exclusive === true)
        await tx
          .run(() => boots.stop(bootId))
          .catch((error: unknown) => log.warn({ error }, "the store closes unclean"));
      tx.close();
      db.close();
    },
  };
}

/** Voids the leases of older boots, which the home lock proves dead. Returns whether the last boot died. */
function enter(
  db: DatabaseSync,
  { path, clock, log, bootId }: SqliteOptions,
  boots: ReturnType<typeof bootHistory>,
): boolean {
  const [last] = boots.list();
  const unclean = last !== undefined && last.stoppedAtMs === null;
  if (unclean) {
    const finding = quickCheck(db);
    if (finding !== "ok") throw damagedFault(path, finding);
    log.warn(
      { boot: last.boot, startedAtMs: last.startedAtMs },
      "the last boot did not end cleanly; the database passed a quick check",
    );
  }
  db.exec("begin immediate");
  query(db, "update lanes set holder = null, at = min(at, ?) where holder is not null").run(clock.now());
  boots.start(bootId);
  db.exec("commit");
  return unclean;
}

function quickCheck(db: DatabaseSync): string {
  const found = query<{ readonly quick_check: string }>(db, "pragma quick_check(1)").get();
  return found?.quick_check ?? "no answer";
}
