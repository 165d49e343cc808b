// Backup while the daemon writes, restore while it does not, and the doctor's look at a file.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { backupDatabase, describeDatabase, restoreDatabase, sqliteStore } from "../src/index.ts";
import { options, tempDir } from "./open-sqlite.ts";
import { testClock } from "./clock.ts";
import { chat, delivery, lane, row, takeDeliveryBatch, takeTurn } from "./subject.ts";

let dir = "";
let path = "";
let copy = "";

beforeEach(() => {
  dir = tempDir();
  path = join(dir, "state.db");
  copy = join(dir, "backup.db");
});
afterEach(() => rmSync(dir, { recursive: true }));

async function rowsIn(file: string): Promise<number> {
  const store = await sqliteStore(options(file));
  const found = await store.inbox.find({ limit: 10_000 });
  await store.close();
  return found.length;
}

test("a backup taken under writes is whole, sound and of one instant", async () => {
  const store = await sqliteStore(options(path));
  for (let i = 0; i < 300; i += 1) await store.inbox.accept([row(`a${i}`, { payload: "x".repeat(2000) })]);
  let done = false;
  const writing = (async () => {
    for (let i = 0; !done; i += 1) await store.inbox.accept([row(`b${i}`), row(`c${i}`)]);
  })();
  await backupDatabase(path, copy);
  done = true;
  await writing;
  await store.close();
  expect(describeDatabase(copy, { full: true })).toMatchObject({
    findings: [],
    walBytes: 0,
    schema: 2,
    newestSchema: 2,
  });
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  const found = await rowsIn(copy);
  expect(found).toBeGreaterThanOrEqual(300);
  expect(found % 2).toBe(0);
  expect(readdirSync(dir).filter((name) => name.includes("partial"))).toEqual([]);
});

test("a backup never replaces a file", async () => {
  await (await sqliteStore(options(path))).close();
  writeFileSync(copy, "precious");
  await expect(backupDatabase(path, copy)).rejects.toMatchObject({ code: "conflict" });
});

test("a place that cannot be is told, whatever is wrong with it", async () => {
  await (await sqliteStore(options(path))).close();
  const nowhere = join(dir, "none", "backup.db");
  await expect(backupDatabase(path, nowhere)).rejects.toThrow(
    `there is no folder ${join(dir, "none")} for the backup: make it first`,
  );
  const tooLong = join(dir, "x".repeat(300));
  await expect(backupDatabase(path, tooLong)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/cannot be written: ENAMETOOLONG: .*choose a place/) as string,
  });
  expect(() => restoreDatabase(nowhere, path, 7)).toThrow(`there is no file ${nowhere}`);
});

test("a restore brings back the backup and keeps the replaced file", async () => {
  const store = await sqliteStore(options(path));
  await store.inbox.accept([row("1")]);
  await backupDatabase(path, copy);
  await store.inbox.accept([row("2"), row("3")]);
  await store.close();
  const { keptAs: aside } = restoreDatabase(copy, path, 42);
  expect(aside).toBe(`${path}.replaced-42`);
  expect(await rowsIn(path)).toBe(1);
  expect(await rowsIn(aside ?? "")).toBe(3);
});

test("a restore replaces a damaged database, and refuses a damaged backup", async () => {
  const store = await sqliteStore(options(path));
  await store.inbox.accept([row("1")]);
  await backupDatabase(path, copy);
  await store.close();
  writeFileSync(path, "not a database at all".repeat(100));
  expect(() => restoreDatabase(path, copy, 1)).toThrow("damaged");
  restoreDatabase(copy, path, 2);
  expect(await rowsIn(path)).toBe(1);
  // An empty file is a sound database without tables.
  const empty = join(dir, "empty.db");
  writeFileSync(empty, "");
  expect(() => restoreDatabase(empty, path, 3)).toThrow("is no backup of Parley");
  expect(await rowsIn(path)).toBe(1);
});

test("what stands in the log beside a copied database is restored with it", async () => {
  const store = await sqliteStore(options(path));
  await store.inbox.accept([row("1")]);
  // As `cp -r` takes them after a kill.
  for (const side of ["", "-wal"]) copyFileSync(path + side, copy + side);
  await store.inbox.accept([row("2")]);
  await store.close();
  const before = [readFileSync(copy), readFileSync(`${copy}-wal`)];
  restoreDatabase(copy, path, 1);
  expect(await rowsIn(path)).toBe(1);
  expect([readFileSync(copy), readFileSync(`${copy}-wal`)]).toEqual(before);
  expect(readdirSync(dir).filter((name) => name.includes("partial"))).toEqual([]);
});

test("a database of another program is told as what it is, and not as one of this folder", () => {
  const db = new DatabaseSync(copy);
  db.exec("create table notes (text)");
  db.close();
  expect(() => restoreDatabase(copy, path, 1)).toThrow(
    `${copy} is no backup of Parley: it is empty, or another program's`,
  );
});

test("a restore into an empty home needs no old file", async () => {
  await (await sqliteStore(options(path))).close();
  await backupDatabase(path, copy);
  const fresh = join(dir, "fresh.db");
  expect(restoreDatabase(copy, fresh, 1).keptAs).toBeNull();
  expect(existsSync(fresh)).toBe(true);
});

test("what was open in a restored copy waits for an operator, what was over stays as it was, and cells are asked for", async () => {
  const clock = testClock();
  const store = await sqliteStore(options(path, { clock }));
  const place = (name: string) => ({ lane: lane(name), conversation: chat(name) });
  await store.inbox.accept([row("over"), row("claimed", place("b")), row("parked", place("c"))]);
  const over = await takeTurn(store);
  await store.turns.commit(over, over.id, { outcome: "answered", entries: ["1"] });
  const claimed = await takeTurn(store);
  await store.turns.checkpoint(claimed, 0, { steps: [{ kind: "model", body: "{}" }] });
  const parked = await takeTurn(store);
  await store.turns.park(parked, { tickets: ["t"], wake: "answer", untilMs: clock.now() + 9_000 });
  await store.inbox.accept([
    row("waiting", place("d")),
    row("context", { ...place("d"), as: { kind: "context", keep: 5 } }),
    row("refused", { as: { kind: "closed", outcome: "refused", reason: "a stranger" } }),
  ]);
  const to = (name: string) => ({ lane: chat(name), pool: `out-${name}` });
  await store.outbox.post([
    delivery("sent", to("e")),
    delivery("begun", { ...to("f"), parts: [{ content: "a" }, { content: "b" }, { content: "c" }] }),
    delivery("fresh", to("g")),
    delivery("preview", { ...to("h"), open: true }),
  ]);
  const send = async (name: string, id: string, parts: readonly string[]): Promise<void> => {
    const batch = await takeDeliveryBatch(store, { pool: `out-${name}` });
    for (const [part, receipt] of parts.entries()) {
      await store.outbox.record(batch, [{ delivery: id, part, to: "sending", attempt: 1 }]);
      if (receipt !== "") await store.outbox.record(batch, [{ delivery: id, part, to: "sent", receipt }]);
    }
  };
  await send("e", "sent", ["r"]);
  await send("f", "begun", ["r", ""]);
  await send("h", "preview", ["r"]);
  for (const key of ["job:1", "job:2", "other"]) await store.cells.put(key, `${key} before`, {});
  const versions = (await store.cells.list("", 9)).map(({ version }) => version);
  const endedAtMs = clock.now();
  await backupDatabase(path, copy);
  await store.close();
  const restored = join(dir, "restored.db");
  const asked: string[] = [];
  const settled = restoreDatabase(copy, restored, clock.now() + 77, (key, value) => {
    asked.push(`${key}=${value}`);
    return key === "job:1" ? "changed" : null;
  });
  expect(settled).toEqual({ keptAs: null, messages: 3, answers: 3 });
  expect(asked.toSorted()).toEqual(["job:1=job:1 before", "job:2=job:2 before", "other=other before"]);
  clock.advance(100);
  const after = await sqliteStore(options(restored, { clock }));
  const reason = "restored from a backup: it may have been done since the backup was made";
  const dead = { state: "ended", outcome: "dead", reason, endedAtMs: endedAtMs + 77 };
  const rows = await after.inbox.find({ limit: 20 });
  expect(Object.fromEntries(rows.map(({ id, ...each }) => [id.split(":")[2], each]))).toMatchObject({
    over: { state: "ended", outcome: "answered", reason: null, endedAtMs },
    claimed: dead,
    parked: dead,
    waiting: dead,
    context: { state: "context", outcome: null, endedAtMs: null },
    refused: { outcome: "refused", reason: "a stranger", endedAtMs },
  });
  expect(await after.turns.find(claimed.id)).toMatchObject({
    state: "done",
    endedAtMs: endedAtMs + 77,
    log: [],
  });
  expect(await after.turns.find(over.id)).toMatchObject({ endedAtMs, entries: [{ body: "1" }] });
  const deliveries = (await after.outbox.find({ limit: 9 })).map(({ id, done, parts }) => [
    id,
    done,
    parts.map((part) => `${part.state} ${part.reason === reason ? "restored" : (part.reason ?? "")}`.trim()),
  ]);
  expect(deliveries).toEqual([
    ["preview", true, ["sent"]],
    ["fresh", true, ["failed restored"]],
    ["begun", true, ["sent", "ambiguous restored", "failed restored"]],
    ["sent", true, ["sent"]],
  ]);
  expect((await after.outbox.find({ troubled: true, limit: 9 })).map(({ id }) => id)).toEqual([
    "fresh",
    "begun",
  ]);
  expect(await after.troubled()).toEqual({ rows: 3, deliveries: 2 });
  expect((await after.cells.list("", 9)).map(({ value, version }) => [value, version])).toEqual([
    ["changed", versions[0]],
    ["job:2 before", versions[1]],
    ["other before", versions[2]],
  ]);
  for (const lanes of [await after.turns.list(undefined, 20), await after.outbox.list(undefined, 20)])
    expect(lanes.filter(({ atMs, holder }) => atMs !== null || holder !== null)).toEqual([]);
  // The next message is a turn of its own.
  await after.inbox.accept([row("next", place("c"))]);
  const next = await takeTurn(after);
  expect([next.rows.length, next.id === parked.id, next.tickets]).toEqual([1, false, []]);
  await after.close();
});

test("a restore keeps what it replaces, the new file is private, and without a word nothing is settled", async () => {
  const store = await sqliteStore(options(path));
  await store.inbox.accept([row("1")]);
  await backupDatabase(path, copy);
  await store.close();
  chmodSync(copy, 0o644);
  writeFileSync(path, "not a database".repeat(99));
  writeFileSync(`${copy}.partial`, "left");
  expect(restoreDatabase(copy, path, 5)).toEqual({ keptAs: `${path}.replaced-5`, messages: 0, answers: 0 });
  expect(readFileSync(`${path}.replaced-5`, "utf8")).toContain("not a database");
  expect([statSync(path).mode & 0o777, existsSync(`${path}.partial`)]).toEqual([0o600, false]);
  const restored = await sqliteStore(options(path));
  expect(await restored.inbox.find({ limit: 9 })).toMatchObject([{ state: "waiting" }]);
  await restored.close();
});

test("a restore that cannot be written says where and what to do, and leaves nothing half done", async () => {
  const store = await sqliteStore(options(path));
  await store.inbox.accept([row("1")]);
  await backupDatabase(path, copy);
  await store.close();
  const nowhere = join(dir, "none", "state.db");
  expect(() => restoreDatabase(copy, nowhere, 1)).toThrow(
    /none\/state\.db cannot be written: ENOENT: .*: choose a place that this user may write, then try again$/,
  );
  // The name under which the old file would be kept is taken: nothing is replaced.
  writeFileSync(`${path}.replaced-9`, "precious");
  expect(() => restoreDatabase(copy, path, 9)).toThrow(`${path} cannot be written: EEXIST`);
  expect(readdirSync(dir).toSorted()).toEqual(["backup.db", "state.db", "state.db.replaced-9"]);
  expect([readFileSync(`${path}.replaced-9`, "utf8"), await rowsIn(path)]).toEqual(["precious", 1]);
});

test("a backup for which there is no room, or of a file that is none, says so and leaves nothing", async () => {
  await (await sqliteStore(options(path))).close();
  const { prototype } = DatabaseSync;
  const { exec } = prototype;
  prototype.exec = function (this: DatabaseSync, sql: string) {
    const full = { code: "ERR_SQLITE_ERROR", errcode: 13 };
    if (sql === "pragma journal_mode = delete") throw Object.assign(new Error("disk is full"), full);
    exec.call(this, sql);
  };
  try {
    await expect(backupDatabase(path, copy)).rejects.toMatchObject({
      code: "unavailable",
      message: `${copy} cannot be written, the disk is full: free some space, then try again`,
    });
  } finally {
    prototype.exec = exec;
  }
  writeFileSync(path, "not a database".repeat(99));
  await expect(backupDatabase(path, copy)).rejects.toThrow(`${path} is damaged or not a database`);
  const backups = (): readonly string[] => readdirSync(dir).filter((name) => name.startsWith("backup"));
  expect(backups()).toEqual([]);
  // What an interrupted one left is in nobody's way.
  for (const side of ["", "-wal", "-shm"]) rmSync(path + side, { force: true });
  await (await sqliteStore(options(path))).close();
  writeFileSync(`${copy}.partial`, "half", { mode: 0o644 });
  await backupDatabase(path, copy);
  expect([backups(), statSync(copy).mode & 0o777]).toEqual([["backup.db"], 0o600]);
});

test("a doctor reads of a file how large it is with its log, and what does not hold together in it", async () => {
  const store = await sqliteStore(options(path));
  await store.inbox.accept([row("1")]);
  const walBytes = statSync(`${path}-wal`).size;
  expect(walBytes).toBeGreaterThan(0);
  const sound = { bytes: statSync(path).size, walBytes, schema: 2, newestSchema: 2, findings: [] };
  expect(describeDatabase(path, { full: true })).toEqual(sound);
  expect(describeDatabase(path, { full: false })).toEqual(sound);
  await store.close();
  expect(() => describeDatabase(join(dir, "none.db"), { full: false })).toThrow(
    `${join(dir, "none.db")} cannot be opened for writing: check that the folder exists`,
  );
  // An index that should hold every row by now, as it says, and does not.
  const db = new DatabaseSync(path, { defensive: false });
  db.exec(
    "pragma writable_schema = on; update sqlite_schema set sql = 'create index rows_dead on rows (seq)' where name = 'rows_dead'",
  );
  db.close();
  const entries = "wrong # of entries in index rows_dead";
  expect(describeDatabase(path, { full: false }).findings).toEqual([entries]);
  expect(describeDatabase(path, { full: true }).findings).toEqual([
    entries,
    "row 1 missing from index rows_dead",
  ]);
  expect(() => restoreDatabase(path, copy, 1)).toThrow(`${path} is damaged or not a database (`);
});
