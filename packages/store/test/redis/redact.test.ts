// Forgetting on Redis: every place that holds words is rewritten, and no key of the store has the old ones.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { redisStore } from "../../src/index.ts";
import { testClock } from "../clock.ts";
import { delivery, lane, row, takeDeliveryBatch, takeTurn } from "../subject.ts";
import { redisOptions } from "./open-redis.ts";

const word = "zanzibar4711";
const change = (text: string): string | null =>
  text.includes(word) ? text.replaceAll(word, "[forgotten]") : null;

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await redisServer();
  });
  afterAll(() => server.close());

  /** What every key of the store says, with its name. */
  async function everything(prefix: string): Promise<string> {
    const reads = {
      string: "GET",
      hash: "HGETALL",
      list: "LRANGE",
      zset: "ZRANGE",
      set: "SMEMBERS",
    } as const;
    const names = (await server.command("KEYS", `{${prefix}}:*`))
      .split("\r\n")
      .filter((line) => line.startsWith("{"));
    const said = await Promise.all(
      names.map(async (name) => {
        const type = (await server.command("TYPE", name)).trim().slice(1) as keyof typeof reads;
        const range = type === "list" || type === "zset" ? ["0", "-1"] : [];
        return `${name} ${await server.command(reads[type], name, ...range)}`;
      }),
    );
    return said.join("\n");
  }

  test("leaves the words in no key, and everything else as it was", async () => {
    const options = redisOptions(server, { clock: testClock(), acceptDataLoss: true });
    const store = await redisStore(options);
    for (let n = 0; n < 230; n += 1)
      await store.cells.put(`cell-${n}`, n % 3 === 0 ? `${word} ${n}` : `plain ${n}`, {});
    await store.sessions.patch(lane("a"), { note: `${word} too`, other: 1, list: [] });
    await store.events.append("s", "e1", `{"text":"${word}"}`);
    await store.inbox.accept([
      row("1", { payload: `{"text":"${word}"}` }),
      row("2", { lane: lane("b"), payload: `{"text":"${word} waits"}` }),
      row("3", { as: { kind: "closed", outcome: "refused", reason: `${word} is refused` } }),
    ]);
    const turn = await takeTurn(store);
    await store.turns.checkpoint(turn, 0, { steps: [{ kind: "model", body: `{"said":"${word}"}` }] });
    await store.turns.commit(turn, turn.id, {
      outcome: "answered",
      entries: [`{"said":"${word}"}`, `{"said":"tea"}`],
      deliveries: [delivery("d", { parts: [{ content: `${word} is sent` }, { content: "tea" }] })],
    });
    const batch = await takeDeliveryBatch(store);
    await store.outbox.record(batch, [
      { delivery: "d", part: 0, to: "sending", attempt: 1 },
      { delivery: "d", part: 0, to: "failed", reason: `nobody takes ${word}` },
    ]);
    const open = await takeTurn(store);
    await store.turns.checkpoint(open, 0, { steps: [{ kind: "model", body: `{"said":"${word}"}` }] });
    await store.sessions.reset(lane("a"));
    expect((await everything(options.keyPrefix)).split(word).length).toBeGreaterThan(85);

    expect(await store.redact?.(change)).toBe(77 + 1 + 1 + 3 + 2 + 1 + 1);
    expect(await everything(options.keyPrefix)).not.toContain(word);
    expect(await store.redact?.(change)).toBe(0);

    expect((await store.cells.get("cell-3"))?.value).toBe("[forgotten] 3");
    expect((await store.cells.get("cell-4"))?.value).toBe("plain 4");
    expect((await store.sessions.open(lane("a"))).fields).toEqual({
      note: "[forgotten] too",
      other: 1,
      list: [],
      rewritten: 1,
    });
    const entries = await store.sessions.transcript(lane("a"), { epoch: 1, limit: 9 });
    expect(entries).toMatchObject([
      { seq: 1, epoch: 1, turn: turn.id, body: '{"said":"[forgotten]"}' },
      { seq: 2, body: '{"said":"tea"}' },
    ]);
    expect((await store.events.after("s", 0, 9)).events).toMatchObject([{ body: '{"text":"[forgotten]"}' }]);
    // What goes on does so: the other turn, and the rest of the delivery.
    expect(await store.turns.checkpoint(open, 1, { steps: [{ kind: "model", body: "{}" }] })).toBe(2);
    await store.turns.commit(open, open.id, { outcome: "silent", entries: [] });
    await store.outbox.record(batch, [{ delivery: "d", part: 1, to: "sending", attempt: 1 }]);
    const [row3] = await store.inbox.find({ id: "telegram:default:3", limit: 1 });
    expect(row3).toMatchObject({ reason: "[forgotten] is refused", outcome: "refused" });
    await store.close();
  });

  test("leaves nothing in the server's list of what took long", async () => {
    const store = await redisStore(redisOptions(server, { clock: testClock(), acceptDataLoss: true }));
    await server.command("CONFIG", "SET", "slowlog-log-slower-than", "0");
    await store.cells.put("mine", `${word} 1`, {});
    await server.command("CONFIG", "SET", "slowlog-log-slower-than", "-1");
    expect(await server.command("SLOWLOG", "GET", "9")).toContain(word);
    await store.redact?.(change);
    expect(await server.command("SLOWLOG", "GET", "9")).not.toContain(word);
    await store.close();
  });

  test("takes up what somebody else changes under its hands", async () => {
    const options = redisOptions(server, { clock: testClock(), acceptDataLoss: true });
    const store = await redisStore(options);
    await store.cells.put("mine", `${word} 1`, {});
    let writes = 0;
    const meddling = (text: string): string | null => {
      const next = change(text);
      if (next !== null && writes === 0) {
        writes += 1;
        void store.cells.put("mine", `${word} 2`, {});
      }
      return next;
    };
    await store.redact?.(meddling);
    expect((await store.cells.get("mine"))?.value).toBe("[forgotten] 2");
    await store.close();
  });

  test("the server's own files have none of it after they were written anew", async () => {
    const server = await redisServer({ args: ["--appendonly", "yes"] });
    const store = await redisStore(redisOptions(server, { acceptDataLoss: true }));
    try {
      await store.cells.put("mine", `${word} 1`, {});
      const folder = (await server.command("CONFIG", "GET", "dir")).split("\r\n").at(-2) ?? "";
      const has = (): boolean =>
        readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(word));
      await expect.poll(has, { timeout: 20_000 }).toBe(true);
      await store.redact?.(change);
      await expect.poll(has, { timeout: 20_000 }).toBe(false);
      expect((await store.cells.get("mine"))?.value).toBe("[forgotten] 1");
    } finally {
      await store.close();
      await server.close();
    }
  });
});
