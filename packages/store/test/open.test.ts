// Opening the database: private, ours, sound, not newer; and what a boot knows of the one before.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "@parley/protocol";
import {
  databaseIdentity,
  databaseSchema,
  describeDatabase,
  rehearseMigration,
  sqliteStore,
} from "../src/index.ts";
import { migrate } from "../src/sqlite/migrate.ts";
import { migrations } from "../src/sqlite/schema.ts";
import { testClock } from "./clock.ts";
import { options, tempDir } from "./open-sqlite.ts";
import { isIdle, lane, row, takeTurn, want } from "./subject.ts";

let dir = "";
let path = "";

beforeEach(() => {
  dir = tempDir();
  path = join(dir, "state.db");
});
afterEach(() => rmSync(dir, { recursive: true }));

async function fill(): Promise<void> {
  const store = await sqliteStore(options(path));
  for (let i = 0; i < 200; i += 1) await store.inbox.accept([row(`${i}`, { payload: "x".repeat(2000) })]);
  await store.close();
}

test("a new database is readable by its owner only, with its log", async () => {
  const store = await sqliteStore(options(path));
  await store.inbox.accept([row("1")]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
  await store.close();
});

test("an empty file is a new database, and what was stored is there after a reopen", async () => {
  writeFileSync(path, "");
  await fill();
  const store = await sqliteStore(options(path));
  expect(await store.inbox.find({ limit: 1000 })).toHaveLength(200);
  await store.close();
});

test("text in place of the database is refused by name, with the next step", async () => {
  writeFileSync(
    path,
    "this is no database, but it is long enough to be looked at as if it were one".repeat(20),
  );
  const before = readFileSync(path);
  await expect(sqliteStore(options(path))).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining(`${path} is damaged`),
  });
  await expect(sqliteStore(options(path))).rejects.toThrow("parley restore");
  expect(readFileSync(path)).toEqual(before);
});

test("a truncated database is refused after an unclean stop", async () => {
  await fill();
  const db = new DatabaseSync(path);
  db.exec("pragma journal_mode = delete; insert into boots (boot, started) values ('died', 1)");
  db.close();
  truncateSync(path, Math.floor(statSync(path).size / 2 / 4096) * 4096);
  await expect(sqliteStore(options(path, { exclusive: true }))).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining(path),
  });
});

test("another program's database is refused and left alone", async () => {
  const db = new DatabaseSync(path);
  db.exec("create table theirs (a)");
  db.close();
  await expect(sqliteStore(options(path))).rejects.toThrow(`${path} belongs to another program`);
});

test("a newer schema is refused: a downgrade never writes", async () => {
  await fill();
  const db = new DatabaseSync(path);
  db.exec(`pragma user_version = ${migrations.length + 3}`);
  const newer = `has schema ${migrations.length + 3}`;
  db.close();
  await expect(sqliteStore(options(path))).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringContaining(newer),
  });
  expect(() => describeDatabase(path, { full: false })).toThrow(newer);
});

test("a folder that does not exist is named", async () => {
  const missing = join(dir, "none", "state.db");
  await expect(sqliteStore(options(missing))).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining(missing),
  });
  mkdirSync(join(dir, "folder"));
  await expect(sqliteStore(options(join(dir, "folder")))).rejects.toMatchObject({ code: "unavailable" });
});

test("a boot that was not closed is unclean for the next, and the history tells both", async () => {
  const clock = testClock();
  const first = await sqliteStore(options(path, { clock, exclusive: true, bootId: "one" }));
  expect(first.unclean).toBe(false);
  clock.advance(1000);
  const second = await sqliteStore(options(path, { clock, exclusive: true, bootId: "two" }));
  expect(second.unclean).toBe(true);
  await second.close();
  clock.advance(1000);
  const third = await sqliteStore(options(path, { clock, exclusive: true, bootId: "three" }));
  expect(third.unclean).toBe(false);
  expect(await third.bootHistory()).toEqual([
    { boot: "three", startedAtMs: clock.now(), stoppedAtMs: null, worked: false },
    { boot: "two", startedAtMs: clock.now() - 1000, stoppedAtMs: clock.now() - 1000, worked: false },
    { boot: "one", startedAtMs: clock.now() - 2000, stoppedAtMs: null, worked: false },
  ]);
  await third.close();
  await first.close();
});

test("the history tells which boots took a message in or ended a turn; a refusal is no work", async () => {
  const clock = testClock();
  const idle = await sqliteStore(options(path, { clock, exclusive: true, bootId: "idle" }));
  await idle.inbox.accept([row("no", { as: { kind: "closed", outcome: "refused", reason: "a stranger" } })]);
  clock.advance(1000);
  const busy = await sqliteStore(options(path, { clock, exclusive: true, bootId: "busy" }));
  await busy.inbox.accept([row("1")]);
  const turn = await takeTurn(busy);
  clock.advance(500);
  clock.advance(500);
  const ending = await sqliteStore(options(path, { clock, exclusive: true, bootId: "ending" }));
  await ending.turns.commit(await takeTurn(ending), turn.id, { outcome: "answered", entries: [] });
  clock.advance(500);
  const now = await sqliteStore(options(path, { clock, exclusive: true, bootId: "now" }));
  expect((await now.bootHistory()).map(({ boot, worked }) => [boot, worked])).toEqual([
    ["now", false],
    ["ending", true],
    ["busy", true],
    ["idle", false],
  ]);
  for (const store of [idle, busy, ending, now]) await store.close();
});

test("what died at its birth is no work, boots of one moment keep their order, and fifty are kept", async () => {
  const clock = testClock();
  const boot = (bootId: string) => sqliteStore(options(path, { clock, exclusive: true, bootId }));
  for (let n = 0; n < 52; n += 1) await (await boot(`b${n}`)).close();
  const last = await boot("last");
  await last.inbox.accept([row("1", { as: { kind: "closed", outcome: "dead", reason: "cannot be read" } })]);
  const names = (await last.bootHistory()).map(({ boot: name }) => name);
  expect(names).toEqual(["last", ...Array.from({ length: 49 }, (_, n) => `b${51 - n}`)]);
  expect((await last.bootHistory())[0]).toMatchObject({ worked: false, stoppedAtMs: null });
  await last.close();
  const db = new DatabaseSync(path);
  expect(count(db, "select count(*) from boots")).toBe(50);
  db.close();
});

test("of lanes that are due at one moment the one that was leased longest ago goes first, and lists say so", async () => {
  const clock = testClock();
  const store = await sqliteStore(options(path, { clock }));
  const answered = { outcome: "answered", entries: [] } as const;
  const names = ["a", "b", "c"];
  for (const name of ["b", "c", "a"]) {
    clock.advance(10);
    await store.inbox.accept([row(`${name}1`, { lane: lane(name) })]);
    const turn = await takeTurn(store);
    await store.turns.commit(turn, turn.id, answered);
  }
  await store.inbox.accept(names.map((name) => row(`${name}2`, { lane: lane(name) })));
  expect((await store.turns.list(undefined, 9)).map((each) => each.lane.at(-1))).toEqual(["b", "c", "a"]);
  expect([(await takeTurn(store)).lane, (await takeTurn(store)).lane]).toEqual([lane("b"), lane("c")]);
  await store.close();
});

test("refused rows count for the account of their conversation", async () => {
  const store = await sqliteStore(options(path));
  const as = { kind: "closed", outcome: "refused", reason: "no" } as const;
  const from = ["telegram:default:dm:1", "telegram:other:group:-1:7", "web:default:dm:x"];
  await store.inbox.accept(from.map((key, n) => row(`${n}`, { as, conversation: key as never })));
  await store.close();
  const db = new DatabaseSync(path);
  expect(db.prepare("select account from rows order by seq").all()).toEqual(
    ["telegram:default", "telegram:other", "web:default"].map((account) => ({ account })),
  );
  db.close();
});

test("an exclusive boot resumes at once what the dead one held, and the dead one writes nothing", async () => {
  const clock = testClock();
  const dead = await sqliteStore(options(path, { clock, exclusive: true, bootId: "one" }));
  await dead.inbox.accept([row("1")]);
  const turn = await takeTurn(dead);
  const other = await sqliteStore(options(path, { clock, bootId: "reader" }));
  expect(isIdle(await other.turns.take(want))).toBe(true);
  const next = await sqliteStore(options(path, { clock, exclusive: true, bootId: "two" }));
  await expect(dead.turns.extend(turn, 1000)).rejects.toMatchObject({ code: "conflict" });
  expect(await takeTurn(next)).toMatchObject({ id: turn.id, attempt: 2 });
  for (const store of [dead, other, next]) await store.close();
});

test("a closed store refuses every verb, and closing twice is fine", async () => {
  const store = await sqliteStore(options(path));
  const pending = store.inbox.accept([row("1")]);
  await store.close();
  await store.close();
  expect(await pending).toMatchObject([{ verdict: "queued" }]);
  await expect(store.cells.get("k")).rejects.toMatchObject({ code: "unavailable" });
  expect(await store.check()).toMatchObject({ ok: false });
});

test("a migration that dies at any statement leaves the old schema or the new one", () => {
  const list = [
    ...migrations,
    ["create table extra (a)", "insert into extra values (1)", "alter table rows add column later text"],
  ];
  const statements = list.length * 4 + list.flat().length;
  for (let dieAt = 0; dieAt < statements; dieAt += 1) {
    const file = join(dir, `${dieAt}.db`);
    const db = new DatabaseSync(file);
    let left = dieAt;
    const dying = {
      prepare: (sql: string) => db.prepare(sql),
      isTransaction: false,
      exec(sql: string) {
        if (left-- === 0) throw new Error("died here");
        db.exec(sql);
      },
    };
    expect(() => migrate(dying, file, list)).toThrow("died here");
    db.close();
    const reopened = new DatabaseSync(file);
    const [version, tables] = [
      count(reopened, "pragma user_version"),
      count(reopened, "select count(*) from sqlite_schema where type = 'table'"),
    ];
    expect([
      version,
      tables > 0,
      count(reopened, "select count(*) from sqlite_schema where name = 'extra'"),
    ]).toEqual([version, version > 0, version === list.length ? 1 : 0]);
    migrate(reopened, file, list);
    expect(count(reopened, "select count(*) from extra")).toBe(1);
    reopened.close();
  }
});

/** What is logged, each line with its level and what it tells beside its words. */
function logged() {
  const lines: unknown[] = [];
  const at = (level: string) => (fields: object, words: string) => void lines.push([level, words, fields]);
  const log = { ...silentLog, info: at("info"), warn: at("warn"), error: at("error") };
  return { lines, log };
}

/** A file as the first Parley left it, with one message in it. */
function old(file: string): void {
  const db = new DatabaseSync(file);
  for (const statement of migrations[0] ?? []) db.exec(statement);
  db.exec(`pragma user_version = 1; pragma application_id = ${0x5061726c}`);
  db.exec(
    `insert into rows (id, lane, pool, conversation, account, authority, state, accepted, payload)
     values ('telegram:default:old', '${lane("a")}', 'main', 'telegram:default:dm:a', 'telegram:default', 'person', 'context', 1, 'x')`,
  );
  db.close();
}

test("an older file is copied before it is brought to the newer schema, and that is told; a file of this schema is not", async () => {
  const clock = testClock();
  old(path);
  const { lines, log } = logged();
  const copy = `${path}.schema-1-${clock.now()}`;
  await (await sqliteStore(options(path, { clock, log }))).close();
  expect(lines).toEqual([
    ["info", "the database is copied before it is brought to a newer schema", { copy, schema: 1 }],
  ]);
  expect([databaseSchema(copy), databaseSchema(path), databaseIdentity(copy)]).toEqual([
    1,
    migrations.length,
    null,
  ]);
  clock.advance(1);
  const again = await sqliteStore(options(path, { clock, log }));
  expect((await again.inbox.find({ limit: 9 })).map(({ id }) => id)).toEqual(["telegram:default:old"]);
  await again.close();
  expect(readdirSync(dir).toSorted()).toEqual(["state.db", `state.db.schema-1-${clock.now() - 1}`]);
  expect(lines).toHaveLength(1);
});

test("a migration is rehearsed on a copy that goes again, and what is wrong is told of the file itself", () => {
  old(path);
  const before = readFileSync(path);
  const scratch = join(dir, "scratch.db");
  expect(rehearseMigration(path, scratch)).toEqual([]);
  expect([readFileSync(path), readdirSync(dir)]).toEqual([before, ["state.db"]]);
  const other = join(dir, "other.db");
  const db = new DatabaseSync(other);
  db.exec("create table theirs (a)");
  db.close();
  expect(() => rehearseMigration(other, scratch)).toThrow(
    `${other} belongs to another program: move it away`,
  );
  const newer = join(dir, "newer.db");
  const next = new DatabaseSync(newer);
  next.exec(`pragma application_id = ${0x5061726c}; pragma user_version = ${migrations.length + 1}`);
  next.close();
  for (const look of [() => rehearseMigration(newer, scratch), () => databaseSchema(newer)])
    expect(look).toThrow(
      `${newer} has schema ${migrations.length + 1} and this Parley knows ${migrations.length}: ` +
        "start the Parley that wrote it, or restore a backup with `parley restore <file>`",
    );
  expect(existsSync(scratch)).toBe(false);
  writeFileSync(other, "no database".repeat(400));
  for (const look of [() => databaseSchema(other), () => databaseIdentity(other)])
    expect(look).toThrow(`${other} is damaged or not a database`);
});

test("what is confirmed is on the disk: the log is written through at every commit, and kept small", async () => {
  const { prototype } = DatabaseSync;
  const { prepare } = prototype;
  const opened = new Set<DatabaseSync>();
  prototype.prepare = function (this: DatabaseSync, sql: string) {
    opened.add(this);
    return prepare.call(this, sql);
  };
  const store = await sqliteStore(options(path)).finally(() => (prototype.prepare = prepare));
  const settings = [...opened]
    .filter((db) => db.isOpen)
    .map((db) =>
      ["journal_mode", "synchronous", "journal_size_limit", "busy_timeout"].map(
        (name) => Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0],
      ),
    );
  expect(settings).toEqual([["wal", 2, 64 * 1024 * 1024, 20]]);
  await store.close();
});

test("a boot after one that died is told of it, and a clean one of nothing; who cannot write that it stopped says so", async () => {
  const clock = testClock();
  const { lines, log } = logged();
  const boot = (bootId: string) => sqliteStore(options(path, { clock, exclusive: true, bootId, log }));
  await (await boot("clean")).close();
  clock.advance(10);
  const died = await boot("died");
  expect(lines).toEqual([]);
  clock.advance(10);
  const next = await boot("next");
  const words = "the last boot did not end cleanly; the database passed a quick check";
  expect(lines).toEqual([["warn", words, { boot: "died", startedAtMs: clock.now() - 10 }]]);
  lines.length = 0;
  const locked = new DatabaseSync(path);
  locked.exec("begin immediate");
  const closing = next.close();
  for (let tenths = 0; tenths < 60; tenths += 1) {
    await wait(0);
    clock.advance(100);
  }
  await closing;
  const error: unknown = expect.objectContaining({ code: "unavailable" });
  expect(lines).toEqual([["warn", "the store closes unclean", { error }]]);
  locked.close();
  await died.close();
});

test("a turn that ended in the moment in which the next boot began was that one's work", async () => {
  const clock = testClock();
  const boot = (bootId: string) => sqliteStore(options(path, { clock, exclusive: true, bootId }));
  const first = await boot("first");
  await first.inbox.accept([row("1")]);
  await first.close();
  clock.advance(5);
  await (await boot("idle")).close();
  clock.advance(5);
  const last = await boot("last");
  const turn = await takeTurn(last);
  await last.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
  expect((await last.bootHistory()).map(({ boot: name, worked }) => `${name} ${worked}`)).toEqual([
    "last true",
    "idle false",
    "first true",
  ]);
  await last.close();
});

function count(db: DatabaseSync, sql: string): number {
  return Number(Object.values(db.prepare(sql).get() ?? {})[0]);
}
