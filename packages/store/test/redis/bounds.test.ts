// What is bounded, and how (I9); what hostile input does to keys and scripts; what a node's starts leave
// behind.
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ConversationKey, SessionKey } from "@parley/protocol";
import { redisStore, type RedisStore } from "../../src/index.ts";
import { refusedKept } from "../../src/limits.ts";
import { type TestClock, testClock } from "../clock.ts";
import { chat, delivery, lane, row, takeDeliveryBatch, takeTurn, want, wantOut } from "../subject.ts";
import { redisOptions } from "./open-redis.ts";

const dayMs = 86_400_000;

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  let server: RedisServer;
  let store: RedisStore;
  let clock: TestClock;
  let keyPrefix: string;
  beforeAll(async () => {
    server = await redisServer({ args: ["--appendfsync", "everysec"] });
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    clock = testClock();
    const options = redisOptions(server, { clock, eventsKept: 5 });
    keyPrefix = options.keyPrefix;
    store = await redisStore(options);
    return () => store.close();
  });

  /** Names of the keys, without the prefix. */
  async function keys(): Promise<readonly string[]> {
    const answer = await server.command("KEYS", `{${keyPrefix}}:*`);
    return answer
      .split("\r\n")
      .flatMap((line) => (line.startsWith("{") ? [line.slice(keyPrefix.length + 3)] : []));
  }

  async function sweepAll(limit: number): Promise<number> {
    let slices = 1;
    while (await store.sweep(limit)) slices += 1;
    return slices;
  }

  test("every key stands under the one hash tag", async () => {
    await store.inbox.accept([row("1")]);
    const everything = (await server.command("KEYS", "*"))
      .split("\r\n")
      .filter((line) => /^[^*$]/.test(line));
    expect(everything.length).toBeGreaterThan(3);
    expect(everything.filter((name) => !/^\{test-\d+\}:/.test(name))).toEqual([]);
  });

  test("the event ring keeps the newest, and tells a client that asks for what left", async () => {
    for (let n = 1; n <= 8; n += 1)
      await store.events.append(n % 2 === 0 ? "control" : chat("a"), `e${n}`, `${n}`);
    expect((await keys()).filter((name) => name.startsWith("event:"))).toHaveLength(5);
    expect(await store.events.after("control", 3, 9)).toMatchObject({
      gone: false,
      events: [{ seq: 4 }, { seq: 6 }, { seq: 8 }],
      lastSeq: 8,
    });
    expect(await store.events.after("control", 2, 9)).toMatchObject({ gone: true });
  });

  test("a flood of refused rows is bounded per account, in slices, and keeps the newest", async () => {
    const as = { kind: "closed", outcome: "refused", reason: "flood" } as const;
    for (let from = 0; from < refusedKept + 700; from += 250) {
      const many = Array.from({ length: Math.min(250, refusedKept + 700 - from) }, (_, n) =>
        row(`${from + n}`, { as, payload: "0" }),
      );
      await store.inbox.accept(many);
    }
    await store.inbox.accept([row("other", { as, conversation: "discord:default:dm:a" as ConversationKey })]);
    expect(await store.sweep(500)).toBe(true);
    await sweepAll(500);
    const kept = await server.command("ZCARD", `{${keyPrefix}}:rows`);
    expect(kept).toBe(`:${refusedKept + 1}\r\n`);
    expect(await store.inbox.find({ id: "telegram:default:699", limit: 1 })).toEqual([]);
    expect(await store.inbox.find({ id: "telegram:default:700", limit: 1 })).toHaveLength(1);
  });

  test("what ended leaves nothing behind but the transcript; tokens grow over a lane that left and came back", async () => {
    await store.inbox.accept([row("1", { subject: "s/1" }), row("2", { as: { kind: "context", keep: 5 } })]);
    const turn = await takeTurn(store);
    await store.turns.checkpoint(turn, 0, { steps: [{ kind: "model", body: "{}" }] });
    await store.turns.commit(turn, turn.id, {
      outcome: "dead",
      entries: ["1"],
      deliveries: [delivery("d")],
      contextThrough: 99,
    });
    const parcel = await takeDeliveryBatch(store);
    await store.outbox.record(parcel, [{ delivery: "d", part: 0, to: "failed", reason: "x" }]);
    await store.outbox.release(parcel, { afterMs: 0, reason: "done" });
    await store.cells.put("short", "x", { ttlMs: 1000 });
    clock.advance(8 * dayMs);
    expect(await sweepAll(1)).toBeLessThan(12);
    expect(
      (await keys()).map((name) => name.replace(/:.*/s, "")).toSorted((a, b) => (a < b ? -1 : 1)),
    ).toEqual(["counters", "entries", "pools", "pools", "session", "sessions"]);
    await store.inbox.accept([row("1")]);
    expect((await takeTurn(store)).token).toBeGreaterThan(turn.token);
  });

  test("lanes that are held, and conversations that a preview holds, stay", async () => {
    await store.inbox.accept([row("1")]);
    await takeTurn(store);
    await store.outbox.post([delivery("preview", { open: true })]);
    const parcel = await takeDeliveryBatch(store);
    await store.outbox.record(parcel, [
      { delivery: "preview", part: 0, to: "sending", attempt: 1 },
      { delivery: "preview", part: 0, to: "sent", receipt: "r" },
    ]);
    await store.outbox.release(parcel, { afterMs: 0, reason: "sent" });
    clock.advance(30 * dayMs);
    await sweepAll(10);
    await store.outbox.post([delivery("final", { closes: "preview" })]);
    expect((await takeDeliveryBatch(store)).deliveries.map(({ id }) => id)).toEqual(["final"]);
    expect((await takeTurn(store, { holder: "w2" })).rows).toHaveLength(1);
  });

  test("any text may be an id, a key, a payload or a reason", async () => {
    const anyText = fc.oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.constantFrom(
        "\u0000",
        "\ud800",
        "a\udfffb",
        "%s%n",
        "]]--",
        "{x}:*",
        "'\"\\",
        "\r\n*1\r\n",
        "ü:/\u2028",
        "constructor",
        "__proto__",
      ),
    );
    let n = 0;
    const property = fc.asyncProperty(anyText, anyText, anyText, async (a, b, c) => {
      n += 1;
      const wellFormed = (text: string): string => text.toWellFormed();
      const session = `agent:main:${n}:${a}` as SessionKey;
      const conversation = `telegram:default:dm:${n}${b}` as ConversationKey;
      const payload = JSON.stringify({ text: c });
      const pool = `${n}${c}`;
      const id = `telegram:default:${n}:${b}`;
      await store.inbox.accept([
        row("x", { id, lane: session, conversation, authority: a, subject: `${n}/${c}/${a}`, pool, payload }),
      ]);
      const turn = await takeTurn(store, { pool, holder: b });
      expect(turn).toMatchObject({
        lane: wellFormed(session),
        conversation: wellFormed(conversation),
        rows: [{ id: wellFormed(id), payload }],
      });
      await store.turns.checkpoint(turn, 0, {
        steps: [{ kind: "model", body: c }],
        cells: [{ key: `${n}${a}`, value: b }],
      });
      await store.turns.commit(turn, turn.id, {
        outcome: "answered",
        reason: c,
        entries: [payload],
        deliveries: [delivery(`${n}${c}`, { lane: conversation, pool, cause: a, parts: [{ content: b }] })],
        patch: { [`f${a}`]: { list: [], none: null, text: wellFormed(c), big: 8_888_888_888_888_888 } },
      });
      expect(await store.inbox.find({ turn: turn.id, limit: 1 })).toMatchObject([{ reason: wellFormed(c) }]);
      expect(await store.cells.get(`${n}${a}`)).toMatchObject({ value: wellFormed(b) });
      expect((await store.sessions.open(session)).fields).toEqual({
        [`f${wellFormed(a)}`]: { list: [], none: null, text: wellFormed(c), big: 8_888_888_888_888_888 },
      });
      expect(await store.sessions.transcript(session, { limit: 9 })).toMatchObject([{ body: payload }]);
      const parcel = await takeDeliveryBatch(store, { pool });
      expect(parcel.deliveries).toMatchObject([
        { parts: [{ content: wellFormed(b) }], cause: wellFormed(a) },
      ]);
    });
    await fc.assert(property, { numRuns: 60 });
  });

  test("a message of a megabyte comes back whole", async () => {
    const payload = JSON.stringify({ text: "ü\u0000😀".repeat(200_000) });
    await store.inbox.accept([row("1", { payload })]);
    expect((await takeTurn(store)).rows[0]?.payload).toBe(payload);
  });

  test("a flood into one lane does not make the next take slow to answer, nor lose its order", async () => {
    for (let from = 0; from < 5000; from += 500) {
      await store.inbox.accept(Array.from({ length: 500 }, (_, n) => row(`${from + n}`)));
    }
    const turn = await takeTurn(store, { maxRows: 200 });
    expect(turn.rows.map(({ payload }) => payload)).toEqual(
      Array.from({ length: 200 }, (_, n) => `{"text":"${n}"}`),
    );
    expect(await store.turns.extend(turn, 1000)).toBe(1000);
    const { rows } = await store.inbox.stop(lane("a"), { rows: { keepNewest: 10 }, reason: "cap" });
    expect(rows).toHaveLength(4790);
  });

  test("two handles that take at once share the lanes, and never one lane", async () => {
    const other = await redisStore(redisOptions(server, { clock, keyPrefix, bootId: "boot-2" }));
    await store.inbox.accept(Array.from({ length: 40 }, (_, n) => row(`${n}`, { lane: lane(`l${n}`) })));
    const takes = Array.from({ length: 40 }, (_, n) =>
      (n % 2 === 0 ? store : other).turns.take({ ...want, holder: `w${n % 2}` }),
    );
    const lanes = (await Promise.all(takes)).map((turn) => ("idle" in turn ? null : turn.lane));
    expect(new Set(lanes).size).toBe(40);
    expect(await other.outbox.take(wantOut)).toEqual({ idle: true, nextAtMs: null });
    await other.close();
  });

  test("the boots of a node are its own, newest first, and know whether they ended and worked", async () => {
    const boot = async (bootId: string, node: string): Promise<RedisStore> =>
      redisStore(redisOptions(server, { clock, keyPrefix, bootId, node }));
    const first = await boot("b1", "n1");
    await first.inbox.accept([row("1")]);
    await first.close();
    const idle = await boot("b4", "n4");
    await idle.inbox.accept([
      row("2", { as: { kind: "closed", outcome: "refused", reason: "a stranger" } }),
      row("1"),
    ]);
    expect(await idle.bootHistory()).toMatchObject([{ boot: "b4", worked: false }]);
    const turn = await takeTurn(idle, { holder: "b4" });
    await idle.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
    expect(await idle.bootHistory()).toMatchObject([{ boot: "b4", worked: true }]);
    await idle.close();
    clock.advance(5);
    const second = await boot("b2", "n1");
    const elsewhere = await boot("b3", "n2");
    expect(await second.bootHistory()).toEqual([
      { boot: "b2", startedAtMs: clock.now(), stoppedAtMs: null, worked: false },
      { boot: "b1", startedAtMs: clock.now() - 5, stoppedAtMs: clock.now() - 5, worked: true },
    ]);
    expect(await elsewhere.bootHistory()).toHaveLength(1);
    await second.close();
    await elsewhere.close();
  });

  test("fifty boots of a node are kept, the newest, and of an older one nothing is left", async () => {
    const name = (key: string): string => `{${keyPrefix}}:${key}`;
    const older = Array.from({ length: 60 }, (_, n) => `old-${n}`);
    await server.command("RPUSH", name("boots:n9"), ...older);
    for (const boot of ["old-48", "old-49", "old-59"])
      await server.command("HSET", name(`boot:${boot}`), "started", boot.slice(4));
    const next = await redisStore(redisOptions(server, { clock, keyPrefix, bootId: "next", node: "n9" }));
    expect(await next.bootHistory()).toEqual([
      { boot: "next", startedAtMs: clock.now(), stoppedAtMs: null, worked: false },
      { boot: "old-48", startedAtMs: 48, stoppedAtMs: null, worked: false },
    ]);
    expect((await keys()).filter((key) => key.startsWith("boot:")).toSorted()).toEqual([
      "boot:next",
      "boot:old-48",
    ]);
    expect(await server.command("LLEN", name("boots:n9"))).toBe(":50\r\n");
    await next.close();
  });

  test("who only looks has no boots, and a list of sessions goes on behind more than a slice of newer ones", async () => {
    expect(await store.bootHistory()).toEqual([]);
    const key = (name: string): SessionKey => `agent:main:${name}` as SessionKey;
    await store.sessions.open(key("x:oldest"));
    clock.advance(1);
    await Promise.all(Array.from({ length: 600 }, (_, n) => store.sessions.open(key(`y:${n}`))));
    clock.advance(1);
    await store.sessions.open(key("x:newest"));
    const names = async (limit: number) =>
      (await store.sessions.list({ prefix: "agent:main:x:", limit })).map((each) =>
        each.key.split(":").at(-1),
      );
    expect([await names(9), await names(2), await names(1)]).toEqual([
      ["newest", "oldest"],
      ["newest", "oldest"],
      ["newest"],
    ]);
    expect(await store.sessions.list({ limit: 550 })).toHaveLength(550);
    expect((await store.cells.list("", 9)).length).toBe(0);
    await Promise.all(
      Array.from({ length: 250 }, (_, n) => store.cells.put(`c:${n}`, "x", n < 240 ? { ttlMs: 1 } : {})),
    );
    clock.advance(1);
    // More than a slice of what is over stands before and between.
    expect((await store.cells.list("c:", 3)).map((each) => each.key)).toEqual(["c:240", "c:241", "c:242"]);
    expect(await store.cells.list("c:", 99)).toHaveLength(10);
  });
});
