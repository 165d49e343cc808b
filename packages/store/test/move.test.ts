// From one store to another and back: everything is there, in the same order, and goes on where it stood;
// interrupted anywhere it is finished by the next call; nothing is copied over what is there.
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { silentLog, systemClock } from "@parley/protocol";
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { databaseIdentity, moveBetween, redisStore, sqliteStore, type Store } from "../src/index.ts";
import { moveStore } from "../src/move/move.ts";
import type { MoveSide } from "../src/move/records.ts";
import { sqliteSide } from "../src/move/sqlite-side.ts";
import { tempDir } from "./open-sqlite.ts";
import { chat, delivery, ids, lane, row, takeDeliveryBatch, takeTurn } from "./subject.ts";

const clock = systemClock();
const now = (): number => clock.now();

/**
 * A bit of everything: open, parked and ended turns, waiting rows, parts in every state, a preview, cells,
 * events.
 */
async function fill(store: Store): Promise<void> {
  await store.inbox.accept([
    row("1"),
    row("2", { lane: lane("b"), conversation: chat("b") }),
    row("3", { lane: lane("c"), conversation: chat("c") }),
  ]);
  await store.inbox.accept([
    row("dead", { as: { kind: "closed", outcome: "dead", reason: "no" } }),
    row("x", { as: { kind: "context", keep: 5 } }),
  ]);
  const first = await takeTurn(store);
  await store.turns.checkpoint(first, 0, {
    steps: [{ kind: "model", body: '{"é\u2028":[]}' }],
    deliveries: [delivery("open", { open: true })],
  });
  await store.turns.commit(first, first.id, {
    outcome: "answered",
    entries: ['{"role":"user"}', '{"role":"assistant"}'],
    patch: { model: "m", list: [], nested: { a: [] } },
    deliveries: [
      delivery("answer", { closes: "open", parts: [{ content: "one" }, { content: "two", into: "open/0" }] }),
    ],
  });
  const second = await takeTurn(store);
  await store.turns.checkpoint(second, 0, { steps: [{ kind: "intent", body: "{}" }] });
  await store.turns.park(second, { tickets: ["t1"], wake: "any", untilMs: now() + 3_600_000 });
  const third = await takeTurn(store);
  await store.turns.checkpoint(third, 0, { steps: [{ kind: "model", body: "{}" }] });
  await store.inbox.accept([row("4", { lane: lane("c"), conversation: chat("c") })]);
  const parcel = await takeDeliveryBatch(store);
  const [head] = parcel.deliveries;
  await store.outbox.record(parcel, [{ delivery: head?.id ?? "", part: 0, to: "sending", attempt: 1 }]);
  await store.sessions.reset(lane("a"));
  await store.cells.put("pairing:x", "{}", {});
  await store.cells.put("short", "{}", { ttlMs: 3_600_000 });
  await store.cells.put("node:gone", "{}", {});
  for (let n = 0; n < 3; n += 1)
    await store.events.append(n === 1 ? "control" : chat("a"), `e${n}`, `{"n":${n}}`);
}

/**
 * What the other one has none of: rows of every end and kind, a turn that was stopped while it was parked,
 * one that processes may have died of, parts with every mark; and more of each than one page holds.
 */
async function fillMore(store: Store): Promise<void> {
  const many = Array.from({ length: 205 }, (_, n) => n);
  const place = (name: string) => ({ lane: lane(name), conversation: chat(name) });
  await store.inbox.accept([
    row("barrier", { ...place("d"), as: { kind: "work", barrier: true } }),
    row("behind", place("d")),
    row("album", { ...place("e"), as: { kind: "work", afterMs: 4_000 } }),
    row("ticket", { ...place("e"), subject: "s/1", version: 2, as: { kind: "work", ticket: "t9" } }),
    row("edited", { ...place("e"), subject: "s/1", version: 5, as: { kind: "edit" } }),
    row("refused", { ...place("f"), as: { kind: "closed", outcome: "refused", reason: "a stranger" } }),
    row("seen", { ...place("f"), as: { kind: "closed", outcome: "dead", reason: "seen" } }),
    row("cron", { ...place("g"), pool: "cron" }),
  ]);
  await store.inbox.dismiss(["telegram:default:seen"]);
  await store.inbox.accept([
    row("h1", { ...place("h"), pool: "h" }),
    row("h2", { ...place("h"), pool: "h" }),
  ]);
  for (const holder of ["w1", "w2"]) {
    const turn = await takeTurn(store, { pool: "h", holder, leaseMs: 0 });
    if (holder === "w2") await store.turns.split(turn);
  }
  await store.inbox.accept([row("i", { ...place("i"), pool: "i" })]);
  const parked = await takeTurn(store, { pool: "i" });
  await store.turns.park(parked, { tickets: ["x", "y"], wake: "answer", untilMs: now() + 3_600_000 });
  await store.inbox.stop(lane("i"), { turn: "open", reason: "/stop" });
  const to = (name: string) => ({ lane: chat(name), pool: `out-${name}` });
  await store.outbox.post([
    delivery("flagged", {
      ...to("j"),
      parts: [{ content: "a" }, { content: "b", into: "x/0" }, { content: "c" }],
    }),
    delivery("split", to("k")),
    delivery("sent", { ...to("l"), open: true }),
    delivery("dropped", to("m")),
  ]);
  const send = async (name: string, changes: Parameters<Store["outbox"]["record"]>[1]): Promise<void> => {
    const batch = await takeDeliveryBatch(store, { pool: `out-${name}` });
    await store.outbox.record(batch, changes, { afterMs: 0, reason: "sent" });
  };
  const sending = { part: 0, to: "sending", attempt: 1 } as const;
  await send("j", [
    { ...sending, delivery: "flagged" },
    { delivery: "flagged", part: 0, to: "ambiguous", reason: "lost" },
    { ...sending, delivery: "flagged", attempt: 2 },
    { delivery: "flagged", part: 0, to: "failed", reason: "no such chat" },
  ]);
  await send("k", [
    { ...sending, delivery: "split", split: [{ content: "1" }, { content: "2" }] },
    { delivery: "split", part: 0, to: "sent", receipt: "r0" },
    { ...sending, delivery: "split", part: 1 },
    { delivery: "split", part: 1, to: "failed", reason: "gone" },
  ]);
  await send("l", [
    { ...sending, delivery: "sent" },
    { delivery: "sent", part: 0, to: "sent", receipt: "r1" },
  ]);
  await store.outbox.drop(["dropped"], "operator");
  await store.inbox.accept(many.map((n) => row(`many-${n}`, { ...place(`many-${n}`), pool: "many" })));
  for (const n of many.slice(0, 203)) {
    const turn = await takeTurn(store, { pool: "many" });
    await store.turns.commit(turn, turn.id, {
      outcome: n % 2 === 0 ? "answered" : "stopped",
      reason: `for ${n}`,
      entries: n === 0 ? many.map((at) => `"${at}"`) : [`"${n}"`],
      deliveries: [delivery(`many-${n}`, { lane: chat(`many-${n}`), pool: "out-many", cause: turn.id })],
      patch: { n },
    });
  }
  await store.sessions.reset(lane("many-1"));
  for (const n of many) await store.cells.put(`many-${n}`, `${n}`, n % 2 === 0 ? {} : { ttlMs: 3_600_000 });
  for (const n of many) await store.events.append(n % 3 === 0 ? "x" : "y", `many-${n}`, `${n}`);
  await store.cells.put("over", "x", { ttlMs: 0 });
  for (const key of ["auth:device:1", "nodes", "menus:x", "leaders"]) await store.cells.put(key, "x", {});
  for (const key of ["leader:telegram:default", "node:a", "auth:code:1", "menu:x"])
    await store.cells.put(key, "x", {});
}

/** Everything that any port shows, with times, marks and places. */
async function whole(store: Store): Promise<unknown> {
  const rows = await store.inbox.find({ limit: 5_000, dismissed: true });
  const turns = [...new Set(rows.flatMap((each) => each.turn ?? []))].toSorted();
  const sessions = (await store.sessions.list({ limit: 5_000 })).toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const transcripts: unknown[] = [];
  for (const { key, epoch } of sessions)
    for (let each = 1; each <= epoch; each += 1)
      transcripts.push(await store.sessions.transcript(key, { epoch: each, limit: 5_000 }));
  const lanes = [
    ...(await store.turns.list(undefined, 5_000)),
    ...(await store.outbox.list(undefined, 5_000)),
  ];
  const passing = /^(?:leader|auth:code|menu|node|move):|^over$/;
  return {
    rows,
    undismissed: (await store.inbox.find({ outcome: "dead", limit: 9 })).map(({ id }) => id),
    refused: (await store.inbox.find({ outcome: "refused", limit: 9 })).map(({ id }) => id),
    turns: await Promise.all(turns.map((id) => store.turns.find(id))),
    sessions,
    transcripts,
    deliveries: await store.outbox.find({ limit: 5_000 }),
    inTrouble: (await store.outbox.find({ troubled: true, limit: 9 })).map(({ id }) => id),
    ofCause: (await store.outbox.find({ cause: "test", lane: chat("j"), limit: 9 })).map(({ id }) => id),
    // A lease is not taken along: the lane is free at once.
    lanes: lanes
      .map((each) => (each.holder === null ? each : { ...each, holder: null, atMs: 0 }))
      .toSorted((a, b) => (a.lane < b.lane ? -1 : 1)),
    cells: (await store.cells.list("", 5_000)).filter(({ key }) => !passing.test(key)),
    events: [await store.events.after("x", 0, 999), await store.events.after("y", 0, 999)],
    troubled: await store.troubled(),
  };
}

/** What the contract shows, without times of leases. */
async function shown(store: Store): Promise<unknown> {
  const rows = await store.inbox.find({ limit: 1_000, dismissed: true });
  const keys = [...new Set(rows.map((each) => each.lane))].toSorted();
  return {
    rows,
    sessions: await Promise.all(keys.map((key) => store.sessions.transcript(key, { epoch: 1, limit: 100 }))),
    fields: await store.sessions.list({ limit: 100 }),
    turns: await Promise.all(
      [...new Set(rows.flatMap((each) => each.turn ?? []))].toSorted().map((turn) => store.turns.find(turn)),
    ),
    deliveries: await store.outbox.find({ limit: 100 }),
    lanes: (await store.turns.list(undefined, 100))
      .map(({ lane: name, waiting, token }) => `${name} ${waiting} ${token}`)
      .toSorted(),
    cells: (await store.cells.list("", 100)).filter(({ key }) => !key.startsWith("node:")),
    events: [await store.events.after(chat("a"), 0, 10), await store.events.after("control", 0, 10)],
    troubled: await store.troubled(),
  };
}

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  let server: RedisServer;
  let dir: string;
  let prefixes = 0;
  beforeAll(async () => {
    server = await redisServer({ args: ["--appendfsync", "everysec"] });
  });
  afterAll(() => server.close());
  beforeEach(() => {
    dir = tempDir();
    return () => rmSync(dir, { recursive: true });
  });
  const fresh = "made-by-the-copy";
  const address = () => ({ url: server.url, keyPrefix: `move-${(prefixes += 1)}`, acceptDataLoss: false });
  const file = (name: string) =>
    sqliteStore({
      path: join(dir, name),
      bootId: `boot-${name}`,
      clock,
      log: silentLog,
      onFatal: (error) => console.error(error),
    });

  test("to Redis and back to a new file: the same to every reader, and work goes on", async () => {
    const before = await file("a.db");
    await fill(before);
    const expected = await shown(before);
    await before.close();
    const redis = address();
    const { kinds: moved } = await moveBetween({
      to: "redis",
      database: join(dir, "a.db"),
      fresh,
      redis,
      clock,
      log: silentLog,
    });
    expect(moved.find(({ kind }) => kind === "rows")?.count).toBe(6);

    await moveBetween({ to: "sqlite", database: join(dir, "b.db"), fresh, redis, clock, log: silentLog });
    const back = await file("b.db");
    expect(await shown(back)).toEqual(expected);
    await back.close();

    const store = await redisStore({ ...redis, bootId: "redis", log: silentLog });
    expect(await shown(store)).toEqual(expected);
    const third = await takeTurn(store);
    expect([ids(third.rows), third.attempt, third.log]).toEqual([["3"], 2, [{ kind: "model", body: "{}" }]]);
    expect(ids(await store.turns.absorb(third, 1, 10))).toEqual(["4"]);
    const parked = await store.inbox.accept([
      row("t", { lane: lane("b"), conversation: chat("b"), as: { kind: "work", ticket: "t1" } }),
    ]);
    expect(parked[0]).toMatchObject({ verdict: "queued", seq: 7 });
    expect(ids((await takeTurn(store)).rows)).toEqual(["2", "t"]);
    expect((await store.inbox.accept([row("1")]))[0]).toMatchObject({ verdict: "duplicate" });
    const parcel = await takeDeliveryBatch(store);
    expect(parcel.deliveries[0]?.parts[0]).toMatchObject({ state: "sending", attempts: 1 });
    await store.close();
  });

  test("more than a page of everything, with every mark, is the same on either store, and goes on with its rules", async () => {
    const before = await file("a.db");
    await fillMore(before);
    const expected = await whole(before);
    const counted = (await before.cells.put("counted", "x", {}))?.version ?? Infinity;
    await before.cells.remove("counted");
    await before.close();
    const redis = address();
    const told: string[] = [];
    const move = (to: "redis" | "sqlite", database: string) =>
      moveBetween({
        to,
        database: join(dir, database),
        fresh,
        redis,
        clock,
        log: silentLog,
        tell: (kind, count) => told.push(`${kind} ${count}`),
      });
    const there = await move("redis", "a.db");
    const counts = Object.fromEntries(there.kinds.map(({ kind, count }) => [kind, count]));
    expect(counts).toMatchObject({
      rows: 216,
      sessions: 205,
      entries: 407,
      deliveries: 207,
      events: 205,
      cells: 209,
    });
    expect(told.filter((each) => each.startsWith("rows"))).toEqual(["rows 200", "rows 216"]);
    expect(there.identity).toBe(fresh);
    await move("sqlite", "b.db");
    const shared = await redisStore({ ...redis, bootId: "redis", log: silentLog });
    const back = await file("b.db");
    for (const store of [shared, back]) {
      expect(await whole(store)).toEqual(expected);
      // What processes leave behind, what is over and the copy's own note stay where they were.
      for (const prefix of ["leader:", "node:", "auth:code:", "menu:", "move:", "over"])
        expect(await store.cells.list(prefix, 9)).toEqual([]);
      // Numbers go on, so that nothing is taken for what was before.
      expect((await store.cells.put("later", "x", { expect: 0 }))?.version).toBeGreaterThan(counted);
      expect(await store.events.append("x", "later", "x")).toBe(206);
      expect(await store.events.append("x", "many-0", "again")).toBe(1);
      // A barrier is alone, who may have died of it is alone with its count, and a stop closes what was
      // parked.
      const barrier = await takeTurn(store, { pool: "main" });
      expect([ids(barrier.rows), await store.turns.absorb(barrier, 0, 9)]).toEqual([["barrier"], []]);
      const suspect = await takeTurn(store, { pool: "h" });
      expect([ids(suspect.rows), await store.turns.absorb(suspect, 0, 9)]).toEqual([["h1"], []]);
      await store.turns.commit(suspect, suspect.id, { outcome: "dead", entries: [] });
      expect(await takeTurn(store, { pool: "h" })).toMatchObject({
        attempt: 2,
        rows: [{ payload: '{"text":"h2"}' }],
      });
      expect(await takeTurn(store, { pool: "i" })).toMatchObject({ stop: "/stop", tickets: ["x", "y"] });
      const edit = row("late", { subject: "s/1", version: 4, as: { kind: "edit" } });
      expect(await store.inbox.accept([edit])).toMatchObject([{ verdict: "late" }]);
      await store.outbox.post([delivery("closing", { lane: chat("l"), pool: "out-l", closes: "sent" })]);
      expect(ids((await takeDeliveryBatch(store, { pool: "out-l" })).deliveries)).toEqual(["closing"]);
      expect(ids((await takeDeliveryBatch(store, { pool: "out-j" })).deliveries)).toEqual(["flagged"]);
      await store.close();
    }
  });

  test("interrupted after any step, the next call finishes it; a store that holds something is refused", async () => {
    const before = await file("a.db");
    await fill(before);
    await before.close();
    for (let dies = 1; dies < 10; dies += 2) {
      const name = `to-${dies}.db`;
      await (await file(name)).close();
      const [from, to] = [sqliteSide(join(dir, "a.db"), now), sqliteSide(join(dir, name), now)];
      let writes = 0;
      const dying: MoveSide = {
        ...to,
        write: async (kind, things) => {
          await to.write(kind, things);
          if ((writes += 1) === dies) throw new Error("killed");
        },
      };
      await moveStore(from, dying).catch((error: unknown) => expect(String(error)).toContain("killed"));
      await moveStore(from, to);
      await expect(moveStore(from, to)).rejects.toMatchObject({ code: "conflict" });
      await Promise.all([from.close(), to.close()]);
    }
  });

  test("a store that was only tried may be copied into; one with a setting in it may not, and is left as it was", async () => {
    const before = await file("a.db");
    await fill(before);
    await before.close();
    const redis = address();
    const tried = await redisStore({ ...redis, bootId: "tried", node: "tried", log: silentLog });
    for (const key of ["node:a", "leader:telegram:default", "menu:telegram:default", "auth:code:x"])
      await tried.cells.put(key, "{}", {});
    // More of its own cells than one page holds stand before the one that counts.
    for (let n = 0; n < 205; n += 1) await tried.cells.put(`node:${n}`, "{}", {});
    const setting = await tried.cells.put("owners", "[]", {});
    const copy = () =>
      moveBetween({ to: "redis", database: join(dir, "a.db"), fresh, redis, clock, log: silentLog });
    await expect(copy()).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("keyPrefix") as unknown,
    });
    expect(await tried.cells.get("move:progress")).toBeNull();
    await tried.cells.remove("owners", setting?.version);
    await copy();
    await tried.close();
  });

  test("without a store to take along, or beside another than the remembered one, nothing is copied or made", async () => {
    const redis = address();
    const move = (to: "redis" | "sqlite", more: object = {}) =>
      moveBetween({ to, database: join(dir, "a.db"), fresh, redis, clock, log: silentLog, ...more });
    const path = join(dir, "a.db");
    await expect(move("redis")).rejects.toMatchObject({
      code: "missing",
      message: `there is no database at ${path}: there is nothing to take along`,
    });
    expect(readdirSync(dir)).toEqual([]);
    const store = await file("a.db");
    await store.inbox.accept([row("1")]);
    await store.close();
    const expected = { identity: "other", advice: "do this or that" };
    for (const to of ["redis", "sqlite"] as const)
      await expect(move(to, { expected })).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining("do this or that") as unknown,
      });
    const look = await redisStore({ ...redis, bootId: "look", log: silentLog });
    expect([look.identity, await look.inbox.find({ limit: 9 })]).toEqual(["", []]);
    await look.close();
    // Each side is asked about the store that is copied from, and tells that of the one copied into.
    const there = await move("redis", { expected: { ...expected, identity: store.identity } });
    expect([there.identity, there.kinds.find(({ kind }) => kind === "rows")?.count]).toEqual([fresh, 1]);
    const back = await moveBetween({
      to: "sqlite",
      database: join(dir, "b.db"),
      expected: { ...expected, identity: fresh },
      fresh: "not used",
      redis,
      clock,
      log: silentLog,
    });
    expect(back.identity).toBe(databaseIdentity(join(dir, "b.db")));
    expect(back.identity).not.toBe(store.identity);
  });

  test("what one slice of a copy cannot write undoes the slice, and none before it", async () => {
    await (await file("a.db")).close();
    const side = sqliteSide(join(dir, "a.db"), now);
    const cell = (key: string, value: string | null) => ({ key, value, version: 1 });
    await side.write("cells", [cell("first", "1")]);
    await expect(side.write("cells", [cell("second", "2"), cell("third", null)])).rejects.toThrow("NOT NULL");
    await side.write("cells", [cell("fourth", "4")]);
    expect((await side.read("cells", null)).things.map(({ key }) => key)).toEqual(["first", "fourth"]);
    await side.close();
  });

  test("a copy that is not the same is not taken for one", async () => {
    const before = await file("a.db");
    await fill(before);
    await before.close();
    await (await file("b.db")).close();
    const [from, to] = [sqliteSide(join(dir, "a.db"), now), sqliteSide(join(dir, "b.db"), now)];
    const careless: MoveSide = {
      ...to,
      write: (kind, things) => to.write(kind, kind === "rows" ? things.slice(1) : things),
    };
    await expect(moveStore(from, careless)).rejects.toThrow(/not the same: 6 rows .* 5 in/);
    expect(await to.progress()).not.toBeNull();
    await Promise.all([from.close(), to.close()]);
    const db = new DatabaseSync(join(dir, "b.db"));
    expect(db.prepare("select count(*) as n from cells where key = 'move:progress'").get()).toEqual({ n: 1 });
    db.close();
  });
});
