// From one store to another and back: everything is there, in the same order, and goes on where it stood; interrupted anywhere it is finished by the
// next call; nothing is copied over what is there.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { silentLog, systemClock } from "@parley/protocol";
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { moveBetween, redisStore, sqliteStore, type Store } from "../src/index.ts";
import { moveStore } from "../src/move/move.ts";
import type { MoveSide } from "../src/move/records.ts";
import { sqliteSide } from "../src/move/sqlite-side.ts";
import { tempDir } from "./open-sqlite.ts";
import { chat, delivery, ids, lane, row, takeDeliveryBatch, takeTurn } from "./subject.ts";

const clock = systemClock();
const now = (): number => clock.now();

/** A bit of everything: open, parked and ended turns, waiting rows, parts in every state, a preview, cells, events. */
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
