// Leases that end before their time: of a process that is proven dead, and of a leader whose term is over.
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { redisStore, type RedisStore } from "../../src/index.ts";
import { type TestClock, testClock } from "../clock.ts";
import {
  account,
  chat,
  delivery,
  lane,
  row,
  takeDeliveryBatch,
  takeTurn,
  want,
  wantOut,
} from "../subject.ts";
import { redisOptions } from "./open-redis.ts";

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  let server: RedisServer;
  let store: RedisStore;
  let clock: TestClock;
  beforeAll(async () => {
    server = await redisServer({ args: ["--appendfsync", "everysec"] });
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    clock = testClock();
    store = await redisStore(redisOptions(server, { clock }));
    return () => store.close();
  });

  test("what a dead holder had is taken at once, by nobody else's loss, and the dead one writes nothing more", async () => {
    await store.inbox.accept([row("1", { lane: lane("a") }), row("2", { lane: lane("b") })]);
    const dead = await takeTurn(store, { holder: "dead" });
    const alive = await takeTurn(store, { holder: "alive" });
    expect(await store.turns.take({ ...want, holder: "next" })).toMatchObject({ idle: true });
    const woken: string[] = [];
    store.onReady((pool) => woken.push(pool));
    expect(await store.freeLeases({ holder: "dead" })).toBe(1);
    expect(woken).toEqual([dead.pool]);
    expect(await takeTurn(store, { holder: "next" })).toMatchObject({ id: dead.id, attempt: 2 });
    await expect(store.turns.checkpoint(dead, 0, { steps: [] })).rejects.toMatchObject({ code: "conflict" });
    expect(await store.turns.extend(alive, 1_000)).toBe(0);
    expect(await store.freeLeases({ holder: "dead" })).toBe(0);
  });

  test("a new leader gets what the old one was sending; its own leases stay", async () => {
    const first = await store.cells.put(`leader:${account}`, "1", { expect: 0 });
    await store.outbox.post([delivery("d1", { lane: chat("a") }), delivery("d2", { lane: chat("b") })]);
    const old = await takeDeliveryBatch(store, { holder: "old", term: first?.version ?? 0 });
    const second = await store.cells.put(`leader:${account}`, "2", { expect: first?.version ?? 0 });
    const term = second?.version ?? 0;
    const own = await takeDeliveryBatch(store, { holder: "new", term });
    expect(await store.freeLeases({ outboxOf: account, besides: "new" })).toBe(1);
    expect(await takeDeliveryBatch(store, { holder: "new", term })).toMatchObject({ lane: old.lane });
    await expect(store.outbox.extend(old, 1_000)).rejects.toMatchObject({ code: "conflict" });
    await store.outbox.extend(own, 1_000);
    expect(await store.outbox.take({ ...wantOut, holder: "new", term })).toMatchObject({ idle: true });
  });

  test("of a dead holder both kinds of work come free, in every pool; what is over already is not counted", async () => {
    const over = { holder: "dead", leaseMs: 10 };
    await store.inbox.accept([
      row("1", { lane: lane("a") }),
      row("2", { lane: lane("b"), pool: "cron" }),
      row("3", { lane: lane("c"), pool: "other" }),
    ]);
    await store.outbox.post([
      delivery("d1", { lane: chat("a") }),
      delivery("d2", { lane: chat("b"), pool: "telegram:other" }),
    ]);
    await takeTurn(store, { ...over, pool: "other" });
    clock.advance(10);
    await takeTurn(store, { holder: "dead" });
    await takeTurn(store, { holder: "dead", pool: "cron" });
    await takeDeliveryBatch(store, { holder: "dead" });
    const living = await takeDeliveryBatch(store, { holder: "alive", pool: "telegram:other" });
    clock.advance(5);
    // Another account's outbox has another leader.
    expect(await store.freeLeases({ outboxOf: "telegram:none", besides: "new" })).toBe(0);
    expect(await store.freeLeases({ holder: "dead" })).toBe(3);
    const atMs = clock.now();
    expect((await store.turns.list(undefined, 9)).map(({ pool, atMs: at }) => [pool, at])).toEqual([
      ["other", atMs - 5],
      ["main", atMs],
      ["cron", atMs],
    ]);
    const due = Object.fromEntries(
      (await store.outbox.list(undefined, 9)).map((each) => [each.lane, each.atMs]),
    );
    expect(due).toEqual({ [chat("a")]: atMs, [chat("b")]: atMs - 5 + wantOut.leaseMs });
    await store.outbox.extend(living, 1_000);
  });
});
