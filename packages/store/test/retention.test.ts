// What is bounded, and how: floods of refused rows, idle lanes, finished deliveries, expired cells, the event
// ring (I9).
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sqliteStore, type SqliteStore } from "../src/index.ts";
import { storeMemory } from "../src/sqlite/memory.ts";
import { migrate } from "../src/sqlite/migrate.ts";
import { refusedKept } from "../src/limits.ts";
import { retention } from "../src/sqlite/retention.ts";
import { transactions } from "../src/sqlite/transaction.ts";
import { type TestClock, testClock } from "./clock.ts";
import { options, tempDir } from "./open-sqlite.ts";
import { chat, delivery, lane, row, takeDeliveryBatch, takeTurn } from "./subject.ts";

const dayMs = 86_400_000;
let dir = "";
let path = "";
let clock: TestClock;
let store: SqliteStore;

beforeEach(async () => {
  dir = tempDir();
  path = join(dir, "state.db");
  clock = testClock();
  store = await sqliteStore(options(path, { clock, eventsKept: 5 }));
});
afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/** How many records a table holds, seen from outside. */
function count(table: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  const found = db.prepare(`select count(*) as n from ${table}`).get() as { readonly n: number };
  db.close();
  return found.n;
}

async function sweepAll(limit: number): Promise<number> {
  let slices = 1;
  while (await store.sweep(limit)) slices += 1;
  return slices;
}

test("the event ring keeps the newest, and tells a client that asks for what left", async () => {
  for (let n = 1; n <= 8; n += 1)
    await store.events.append(n % 2 === 0 ? "control" : chat("a"), `e${n}`, `${n}`);
  expect(count("events")).toBe(5);
  expect(await store.events.after("control", 3, 9)).toMatchObject({
    gone: false,
    events: [{ seq: 4 }, { seq: 6 }, { seq: 8 }],
    lastSeq: 8,
  });
  expect(await store.events.after("control", 2, 9)).toMatchObject({ gone: true });
  expect(await store.events.after("control", 0, 9)).toMatchObject({ gone: true });
});

test("a flood of refused rows is bounded per account, in slices, and keeps the newest", () => {
  const db = new DatabaseSync(":memory:");
  migrate(db, ":memory:");
  const insert = db.prepare(
    `insert into rows (id, lane, pool, conversation, account, authority, state, outcome, accepted, ended, payload)
     values (?, 'l', 'main', 'c', ?, 'a', 'ended', 'refused', ?1, ?3, '')`,
  );
  db.exec("begin");
  for (let n = 0; n < refusedKept + 700; n += 1) insert.run(`t${n}`, "telegram:default", clock.now());
  for (let n = 0; n < 50; n += 1) insert.run(`d${n}`, "discord:default", clock.now());
  db.exec("commit");
  const tx = transactions(db, { clock, onFatal: () => {} });
  const sweep = retention({ db, clock, tx, memory: storeMemory(db) });
  expect(sweep(500)).toBe(true);
  expect(sweep(500)).toBe(false);
  const left = db
    .prepare("select account, count(*) as n, min(seq) as oldest from rows group by account order by account")
    .all();
  expect(left).toMatchObject([
    { account: "discord:default", n: 50 },
    { account: "telegram:default", n: refusedKept, oldest: 701 },
  ]);
  db.close();
});

test("turns, deliveries with their parts, cells and idle lanes leave when their time is over; held ones stay", async () => {
  await store.inbox.accept([row("1"), row("2", { lane: lane("b"), conversation: chat("b") })]);
  const turn = await takeTurn(store);
  await store.turns.commit(turn, turn.id, {
    outcome: "answered",
    entries: ["1"],
    deliveries: [delivery("d")],
  });
  await store.outbox.post([delivery("preview", { open: true, lane: chat("p") })]);
  for (const id of ["d", "preview"]) {
    const parcel = await takeDeliveryBatch(store);
    await store.outbox.record(parcel, [
      { delivery: id, part: 0, to: "sending", attempt: 1 },
      { delivery: id, part: 0, to: "sent", receipt: "r" },
    ]);
    await store.outbox.release(parcel, { afterMs: 0, reason: "sent" });
  }
  await store.cells.put("short", "x", { ttlMs: 1000 });
  await store.cells.put("long", "x", {});
  clock.advance(4 * dayMs);
  await sweepAll(1);
  expect([count("turns"), count("deliveries"), count("parts"), count("cells"), count("lanes")]).toEqual([
    1, 2, 2, 1, 4,
  ]);
  clock.advance(4 * dayMs);
  expect(await sweepAll(1)).toBeLessThan(20);
  expect([
    count("turns"),
    count("deliveries"),
    count("parts"),
    count("cells"),
    count("lanes"),
    count("rows"),
  ]).toEqual([0, 1, 1, 1, 2, 1]);
  expect(await store.sessions.transcript(lane("a"), { limit: 9 })).toHaveLength(1);
});

test("tokens grow over a lane that left and came back", async () => {
  await store.inbox.accept([row("1")]);
  const old = await takeTurn(store);
  await store.turns.commit(old, old.id, { outcome: "answered", entries: [] });
  clock.advance(8 * dayMs);
  await sweepAll(10);
  expect(count("lanes")).toBe(0);
  await store.inbox.accept([row("2")]);
  expect((await takeTurn(store)).token).toBeGreaterThan(old.token);
});
