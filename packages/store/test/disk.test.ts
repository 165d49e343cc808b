// When the disk fails: full is waited out, an I/O error under a commit ends the process, and nothing unstored
// is ever confirmed.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { silentLog, systemClock, type SessionKey } from "@parley/protocol";
import { afterAll, describe, expect, test, vi } from "vitest";
import { sqliteStore } from "../src/index.ts";
import { transactions } from "../src/sqlite/transaction.ts";
import { testClock } from "./clock.ts";
import { options, tempDir } from "./open-sqlite.ts";
import { row } from "./subject.ts";

const clock = testClock();
const onFatal = (): void => {};

/** An error as node:sqlite throws it. */
function sqliteError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
}

/** A connection whose next statements fail as told; the rest go to a real one. */
function failing(db: DatabaseSync, faults: Map<string, Error>) {
  return {
    exec(sql: string) {
      const error = faults.get(sql);
      faults.delete(sql);
      if (error !== undefined) throw error;
      db.exec(sql);
    },
    get isTransaction() {
      return db.isTransaction;
    },
  };
}

test("calls of one loop turn are one transaction, and a refused one rolls back alone", async () => {
  const db = new DatabaseSync(":memory:");
  db.exec("create table t (a)");
  const begun: string[] = [];
  const tx = transactions(
    { exec: (sql) => (begun.push(sql), db.exec(sql)), isTransaction: true },
    { clock, onFatal },
  );
  const add = (a: number) => tx.run(() => db.prepare("insert into t values (?)").run(a));
  const refused = tx.run(() => {
    db.prepare("insert into t values (99)").run();
    throw new Error("refused");
  });
  const answers = await Promise.allSettled([add(1), refused, add(2)]);
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(db.prepare("select a from t").all()).toMatchObject([{ a: 1 }, { a: 2 }]);
  expect(begun.filter((sql) => sql === "begin immediate")).toHaveLength(1);
  expect(begun.filter((sql) => sql === "commit")).toHaveLength(1);
});

test("who hears of work asks for it in the transaction that brings it, once", async () => {
  const db = new DatabaseSync(":memory:");
  db.exec("create table t (a)");
  const begun: string[] = [];
  const tx = transactions(
    { exec: (sql) => (begun.push(sql), db.exec(sql)), isTransaction: true },
    { clock, onFatal },
  );
  const add = db.prepare("insert into t values (?)");
  const seen: unknown[] = [];
  const taken: Promise<unknown>[] = [];
  tx.onReady(() => {
    if (taken.length === 3) return;
    const take = tx.run(() => {
      tx.ready("main");
      return db.prepare("select count(*) as n from t").get();
    });
    taken.push(take);
    void take.then(() => seen.push(`after ${begun.filter((sql) => sql === "commit").length}`));
  });
  await tx.run(() => {
    tx.ready("main");
    add.run(1);
  });
  // The first joined; what it made ready was told after the commit, and its call came into the next
  // transaction, with the third.
  await vi.waitFor(() => expect(seen).toEqual(["after 1", "after 2", "after 2"]));
  expect(await Promise.all(taken)).toMatchObject([{ n: 1 }, { n: 1 }, { n: 1 }]);
});

test("an I/O error on commit rejects every call of the group, is told once, and later calls are refused", async () => {
  const db = new DatabaseSync(":memory:");
  db.exec("create table t (a)");
  const told: unknown[] = [];
  const eio = sqliteError(10 + (4 << 8), "disk I/O error");
  const tx = transactions(failing(db, new Map([["commit", eio]])), {
    clock,
    onFatal: (error) => told.push(error),
  });
  const joined: Promise<unknown>[] = [];
  tx.onReady(() => joined.push(Promise.allSettled([tx.run(() => 3)])));
  const add = (a: number) =>
    tx.run(() => {
      tx.ready("main");
      return db.prepare("insert into t values (?)").run(a);
    });
  const answers = await Promise.allSettled([add(1), add(2)]);
  expect(answers).toMatchObject([
    { status: "rejected", reason: { code: "ambiguous", cause: eio } },
    { status: "rejected", reason: { code: "ambiguous", cause: eio } },
  ]);
  expect(told).toEqual([eio]);
  // Whoever heard of the work early has got as little of it.
  expect(await Promise.all(joined)).toMatchObject([
    [{ status: "rejected", reason: { code: "ambiguous", cause: eio } }],
  ]);
  await expect(add(3)).rejects.toMatchObject({
    code: "unavailable",
    message: "the store stopped after a disk error: restart Parley",
    cause: eio,
  });
  expect(told).toHaveLength(1);
});

test("an I/O error inside a call is as fatal as one on commit", async () => {
  const db = new DatabaseSync(":memory:");
  const told: unknown[] = [];
  const tx = transactions(db, { clock, onFatal: (error) => told.push(error) });
  const broken = tx.run(() => {
    throw sqliteError(10, "disk I/O error");
  });
  const neighbour = tx.run(() => 1);
  await expect(broken).rejects.toMatchObject({ code: "ambiguous" });
  await expect(neighbour).rejects.toMatchObject({ code: "ambiguous" });
  expect(told).toHaveLength(1);
});

test("what fails under a transaction is logged with the file, then told to whoever ends the process", async () => {
  const told: unknown[] = [];
  const lines: unknown[] = [];
  const log = { ...silentLog, error: (fields: object, words: string) => void lines.push([fields, words]) };
  const { prototype } = DatabaseSync;
  const { prepare } = prototype;
  const eio = sqliteError(10, "disk I/O error");
  let isBroken = false;
  prototype.prepare = function (this: DatabaseSync, sql: string) {
    const statement = prepare.call(this, sql);
    const run = statement.run.bind(statement);
    statement.run = (...values) => {
      if (isBroken && sql.startsWith("insert or replace into cells")) throw eio;
      return run(...(values as unknown as []));
    };
    return statement;
  };
  const store = await sqliteStore(options(":memory:", { log, onFatal: (error) => told.push(error) }));
  prototype.prepare = prepare;
  await store.cells.put("a", "1", {});
  isBroken = true;
  await expect(store.cells.put("b", "2", {})).rejects.toMatchObject({ code: "ambiguous", cause: eio });
  expect([lines, told]).toEqual([
    [[{ path: ":memory:", error: eio }, "the database failed under a transaction"]],
    [eio],
  ]);
  expect(await store.check()).toEqual({
    ok: false,
    reason: "the store stopped after a disk error: restart Parley",
  });
  await store.close();
});

test("a commit that fails for an unknown reason is fatal too", async () => {
  const db = new DatabaseSync(":memory:");
  const told: unknown[] = [];
  const odd = sqliteError(1, "something else");
  const tx = transactions(failing(db, new Map([["commit", odd]])), {
    clock,
    onFatal: (error) => told.push(error),
  });
  await expect(tx.run(() => 1)).rejects.toMatchObject({ code: "ambiguous", cause: odd });
  expect(told).toEqual([odd]);
});

describe("a database that another process has locked", () => {
  const dir = tempDir();
  const path = join(dir, "state.db");
  const other = new DatabaseSync(path);
  afterAll(() => {
    other.close();
    rmSync(dir, { recursive: true });
  });

  test("is waited for beside everything else: the loop goes on, and what was asked is done once the lock is let go", async () => {
    const store = await sqliteStore(options(path, { clock: systemClock() }));
    other.exec("begin immediate");
    const accepted = store.inbox.accept([row("1")]);
    // Whoever waited for the lock inside the loop would keep it from ever being let go.
    await wait(250);
    const more = store.inbox.accept([row("2")]);
    other.exec("rollback");
    expect(await Promise.all([accepted, more])).toMatchObject([
      [{ verdict: "queued" }],
      [{ verdict: "queued" }],
    ]);
    expect((await store.inbox.find({ limit: 5 })).map(({ seq }) => seq)).toEqual([2, 1]);
    await store.close();
  });

  test("is told after five seconds, then to each call at once, and is no trouble any more once the lock is let go", async () => {
    const at = testClock();
    const fatal: unknown[] = [];
    const store = await sqliteStore(options(path, { clock: at, onFatal: (error) => fatal.push(error) }));
    other.exec("begin immediate");
    const ends: string[] = [];
    const asked = store.inbox.accept([row("3")]).catch((error: unknown) => ends.push(String(error)));
    for (let tenths = 0; tenths < 49; tenths += 1) {
      await wait(0);
      at.advance(100);
    }
    expect(ends).toEqual([]);
    await wait(0);
    at.advance(200);
    await asked;
    expect(ends).toEqual([expect.stringContaining("locked by another process")]);
    expect(await store.check()).toMatchObject({
      ok: false,
      reason: expect.stringContaining("locked by another process") as unknown,
    });
    other.exec("rollback");
    expect(await store.check()).toEqual({ ok: true });
    expect(await store.inbox.accept([row("3")])).toMatchObject([{ verdict: "queued" }]);
    expect(fatal).toEqual([]);
    await store.close();
  });

  test("does not keep a store from closing", async () => {
    const store = await sqliteStore(options(path));
    other.exec("begin immediate");
    const asked = store.inbox.accept([row("4")]);
    const refused = expect(asked).rejects.toMatchObject({ code: "unavailable" });
    await wait(0);
    await store.close();
    await refused;
    other.exec("rollback");
  });
});

test("a full disk on commit rejects as unavailable, and the next call works", async () => {
  const db = new DatabaseSync(":memory:");
  db.exec("create table t (a)");
  const told: unknown[] = [];
  const tx = transactions(failing(db, new Map([["commit", sqliteError(13, "database or disk is full")]])), {
    clock,
    onFatal: (error) => told.push(error),
  });
  const add = (a: number) => tx.run(() => db.prepare("insert into t values (?)").run(a));
  await expect(add(1)).rejects.toMatchObject({ code: "unavailable" });
  await add(2);
  expect(db.prepare("select a from t").all()).toMatchObject([{ a: 2 }]);
  expect(told).toEqual([]);
});

test("a store on a full disk refuses new rows, keeps the old ones, and heals when there is room again", async () => {
  const dir = tempDir();
  const path = join(dir, "state.db");
  const { prototype } = DatabaseSync;
  const limit = limitPages(prototype);
  const store = await sqliteStore(options(path));
  const kept: string[] = [];
  limit.set(100);
  let refusal: unknown;
  for (let i = 0; refusal === undefined; i += 1) {
    const [answer] = await Promise.allSettled([
      store.inbox.accept([row(`${i}`, { payload: "x".repeat(3000) })]),
    ]);
    if (answer.status === "fulfilled") kept.push(`telegram:default:${i}`);
    else refusal = answer.reason;
  }
  expect(refusal).toMatchObject({ code: "unavailable", message: expect.stringContaining("disk is full") });
  expect(kept.length).toBeGreaterThan(10);
  expect((await store.inbox.find({ limit: 1000 })).map(({ id }) => id).toReversed()).toEqual(kept);
  limit.set(100_000);
  expect(await store.inbox.accept([row("later", { payload: "x".repeat(9000) })])).toMatchObject([
    { verdict: "queued" },
  ]);
  expect(await store.check()).toEqual({ ok: true });
  await store.close();
  limit.restore();
  rmSync(dir, { recursive: true });
});

test("a store alone on its file remembers nothing of a write that a full disk refused", async () => {
  const dir = tempDir();
  const limit = limitPages(DatabaseSync.prototype);
  const store = await sqliteStore(options(join(dir, "state.db"), { exclusive: true }));
  const session = "agent:main:main" as SessionKey;
  await store.sessions.open(session);
  await store.cells.put("told", "before", {});
  limit.set(60);
  const much = "x".repeat(1_000_000);
  const answers = await Promise.allSettled([
    store.cells.put("told", much, {}),
    store.sessions.patch(session, { much }),
    store.cells.put("little", "fits", {}),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  expect(await store.cells.get("told")).toMatchObject({ value: "before" });
  expect(await store.sessions.open(session)).toMatchObject({ fields: {} });
  expect(await store.cells.get("little")).toMatchObject({ value: "fits" });
  limit.set(100_000);
  await store.close();
  limit.restore();
  rmSync(dir, { recursive: true });
});

/**
 * Bounds the pages of the connections that prepare statements from here on: SQLite then answers as it does on
 * a full disk.
 */
function limitPages(prototype: DatabaseSync) {
  const { prepare } = prototype;
  const connections = new Set<DatabaseSync>();
  prototype.prepare = function (this: DatabaseSync, sql: string) {
    connections.add(this);
    return prepare.call(this, sql);
  };
  return {
    set(pages: number) {
      for (const connection of connections) connection.exec(`pragma max_page_count = ${pages}`);
    },
    restore() {
      prototype.prepare = prepare;
    },
  };
}

test("on a full disk a call that only reads is answered, though the write beside it is refused", async () => {
  const db = new DatabaseSync(":memory:");
  db.exec("create table t (a)");
  const tx = transactions(db, { clock, onFatal });
  const full = tx.run(() => {
    // SQLite rolls the whole transaction back when it finds no room.
    db.exec("rollback");
    throw sqliteError(13, "database or disk is full");
  });
  const read = tx.run(() => db.prepare("select count(*) as n from t").get());
  const [refused, answered] = await Promise.allSettled([full, read]);
  expect(refused).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
  expect(answered).toMatchObject({ status: "fulfilled", value: { n: 0 } });
});

test("of calls that a full disk has tried one by one, those behind an I/O error are not begun any more", async () => {
  const db = new DatabaseSync(":memory:");
  db.exec("create table t (a)");
  const told: unknown[] = [];
  const commits = [sqliteError(13, "database or disk is full"), null, sqliteError(10, "disk I/O error")];
  const connection = {
    exec(sql: string) {
      const error = sql === "commit" ? commits.shift() : undefined;
      if (error) throw error;
      db.exec(sql);
    },
    get isTransaction() {
      return db.isTransaction;
    },
  };
  const tx = transactions(connection, { clock, onFatal: (error) => told.push(error) });
  const add = (a: number) => tx.run(() => Number(db.prepare("insert into t values (?)").run(a).changes));
  const answers = await Promise.allSettled([add(1), add(2), add(3)]);
  expect(answers).toMatchObject([
    { status: "fulfilled", value: 1 },
    { status: "rejected", reason: { code: "ambiguous" } },
    {
      status: "rejected",
      reason: { code: "unavailable", message: "the store stopped after a disk error: restart Parley" },
    },
  ]);
  expect(db.prepare("select a from t").all()).toMatchObject([{ a: 1 }]);
  expect(told).toHaveLength(1);
});
