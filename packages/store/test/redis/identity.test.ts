// A Redis that does not hold what was stored in it: refused at the start, and refused by every verb while it
// is in use, inside the script.
import { silentLog } from "@parley/protocol";
import { lacks, program, redisServer, type RedisServer } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { redisStore } from "../../src/index.ts";
import { row, want } from "../subject.ts";
import { redisOptions } from "./open-redis.ts";

const advice = "do this or that";

describe.skipIf(lacks(program("redis-server")))("a Redis that was emptied", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await redisServer();
  });
  afterAll(() => server.close());

  test("has an identity from its first node on, which every other node and look finds", async () => {
    const options = redisOptions(server, { bootId: "first", node: "a" });
    const look = await redisStore({ ...options, bootId: "look", node: undefined as never });
    expect(look.identity).toBe("");
    const first = await redisStore(options);
    const second = await redisStore({ ...options, bootId: "second", node: "b" });
    expect([first.identity, second.identity]).toEqual(["first", "first"]);
    for (const store of [look, first, second]) await store.close();
  });

  test("a node that stops is written down as stopped before its connection ends, without a warning", async () => {
    const warned: string[] = [];
    const log = { ...silentLog, warn: (_fields: object, words: string) => void warned.push(words) };
    const options = { ...redisOptions(server), node: "a", log };
    await (await redisStore({ ...options, bootId: "first" })).close();
    const second = await redisStore({ ...options, bootId: "second" });
    const [now, before] = await second.bootHistory();
    expect([now?.boot, now?.stoppedAtMs, before?.boot]).toEqual(["second", null, "first"]);
    expect(before?.stoppedAtMs).toBeGreaterThanOrEqual(before?.startedAtMs ?? Infinity);
    await second.close();
    // Nothing is asked of a connection that is closed.
    await expect(second.inbox.find({ limit: 1 })).rejects.toMatchObject({ code: "unavailable" });
    expect(warned).toEqual([]);
  });

  test("is refused by whoever remembers it; another store too", async () => {
    const options = redisOptions(server, { bootId: "first", node: "a" });
    const expected = { identity: "first", advice };
    await expect(redisStore({ ...options, expected })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(/is empty.*do this or that/) as unknown,
    });
    await (await redisStore(options)).close();
    await (await redisStore({ ...options, bootId: "second", expected })).close();
    await expect(redisStore({ ...options, expected: { identity: "other", advice } })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("another store") as unknown,
    });
  });

  test("confirms nothing and gives out nothing until its data is back, also when others made a store in it", async () => {
    const logged: string[] = [];
    const line =
      (level: string) =>
      (_fields: object, words: string): void =>
        void logged.push(`${level}: ${words}`);
    const options = redisOptions(server, { bootId: "first", node: "a" });
    const log = { ...silentLog, info: line("info"), warn: line("warn"), error: line("error") };
    const store = await redisStore({ ...options, log });
    logged.length = 0;
    await store.inbox.accept([row("1")]);
    const key = `{${options.keyPrefix}}:identity`;
    const lost = {
      code: "unavailable",
      message: expect.stringContaining("it was emptied, or exchanged") as unknown,
    };
    await server.command("FLUSHALL");
    await expect(store.inbox.accept([row("2")])).rejects.toMatchObject(lost);
    await expect(store.turns.take(want)).rejects.toMatchObject(lost);
    await expect(store.cells.put("k", "v", {})).rejects.toMatchObject(lost);
    expect(await store.check()).toMatchObject({ ok: false });
    expect(await server.command("DBSIZE")).toContain(":0");

    const stranger = await redisStore({ ...options, bootId: "stranger", node: "b" });
    await expect(store.inbox.accept([row("2")])).rejects.toMatchObject(lost);
    await stranger.close();

    await server.command("SET", key, "first");
    expect(await store.inbox.accept([row("2")])).toMatchObject([{ verdict: "queued" }]);
    expect(await store.check()).toEqual({ ok: true });
    // Each is told once.
    expect(logged).toEqual([
      expect.stringMatching(/^error: Redis at .* does not hold what this gateway stored in it: .* back$/),
      "info: Redis holds what was stored in it again",
    ]);
    await store.close();
  });
});
