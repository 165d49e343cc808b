// The gateway on Redis: a day as on SQLite, and what a Redis that is killed in the middle of the traffic does
// to it: nothing is acknowledged that is not stored, whoever asks is told, everything goes on by itself,
// nothing is lost and nothing said twice.
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { seeded } from "../crash/mixed-traffic.ts";
import { answerTo, flawless, judge, said } from "../crash/said.ts";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, startDaemon } from "./daemon.ts";
import { parley } from "./operator.ts";
import { world, type World } from "./world.ts";

interface Status {
  readonly state: string;
  readonly reasons: readonly string[];
}

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  let w: World;
  let redis: RedisServer;
  beforeEach(async () => {
    [w, redis] = await Promise.all([world(), redisServer()]);
  });
  afterEach(async () => {
    await cleanUp();
    await Promise.all([w.close(), redis.close()]);
  });

  const config = (): object => ({ store: { driver: "redis", redis: { url: redis.url } } });
  const texts = (chat: number): readonly string[] => w.answers(chat).map(({ text }) => text);

  test("messages are answered and remembered, over a restart and without BullMQ's keys too; the operator's commands work on it", async () => {
    const daemon = await w.start({ config: config() });
    const alice = w.telegram.as({ id: 7, name: "Alice" });
    alice.says("my name is Alice");
    await w.answered(7, 1);
    expect(await daemon.stop()).toBe(0);
    expect(existsSync(`${daemon.home}/state.db`)).toBe(false);
    expect((await parley(daemon.home, "why", "Alice")).out).toContain("answered");
    const refused = await parley(daemon.home, "backup", `${daemon.home}/copy.db`);
    expect(refused.exitCode).not.toBe(0);
    expect(refused.err).toContain("redis-cli --rdb");

    alice.says("what is my name?");
    await w.start({ home: daemon.home, config: config() });
    expect(await w.answered(7, 2)).toEqual(["echo: my name is Alice", "echo: what is my name?"]);
    expect(JSON.stringify(w.models.requests()[1]?.body)).toContain("my name is Alice");
    const keys = (await redis.command("KEYS", "{parley}:bull:*"))
      .split("\r\n")
      .filter((line) => line.startsWith("{"));
    if (keys.length > 0) await redis.command("DEL", ...keys);
    alice.says("still there?");
    expect((await w.answered(7, 3))[2]).toBe("echo: still there?");
  });

  test("killed three times in the middle of the traffic: nothing lost, nothing twice, in order, and whoever asks is told", async () => {
    const chance = seeded(7);
    w.models.reply(async (call) => {
      await pause(chance() * 120);
      return answerTo(call);
    });
    const daemon = await w.start({ config: config() });
    const client = await controlClient(daemon);
    const chats = [11, 12, 13, 14];
    const counts = new Map<number, number>(chats.map((chat) => [chat, 0]));
    let talking = true;
    const talk = async (chat: number): Promise<void> => {
      while (talking) {
        const n = (counts.get(chat) ?? 0) + 1;
        counts.set(chat, n);
        w.telegram.as(chat).says(said(n));
        await pause(20 + chance() * 150);
      }
    };
    const talks = chats.map(talk);
    for (let n = 0; n < 3; n += 1) {
      await pause(400 + chance() * 300);
      await redis.kill();
      await eventually(
        async () => {
          const { state, reasons } = (await client.call("status")) as Status;
          return state === "degraded" && reasons.join().includes("Redis at");
        },
        10_000,
        "the reason in the status",
      );
      await expect(client.call("chat.send", { text: "hi", idempotencyKey: `k${n}` })).rejects.toMatchObject({
        code: "unavailable",
      });
      await pause(200);
      await redis.start();
    }
    talking = false;
    await Promise.all(talks);
    for (const chat of chats) {
      const count = counts.get(chat) ?? 0;
      await eventually(
        () => judge(texts(chat), count).lost.length === 0,
        15_000,
        `every answer in chat ${chat}`,
      );
    }
    await pause(300);
    expect(chats.map((chat) => judge(texts(chat), counts.get(chat) ?? 0))).toEqual(chats.map(() => flawless));
    await eventually(
      async () => ((await client.call("status")) as Status).state === "ok",
      10_000,
      "the state ok",
    );
    expect(await client.call("chat.send", { text: "hi", idempotencyKey: "k0" })).toMatchObject({
      duplicate: false,
    });
    client.close();
    expect(await daemon.stop()).toBe(0);
  });

  test("while Redis is away an operator is told so, and that it is well again", async () => {
    const daemon = await w.start({ config: config() });
    await redis.kill();
    const away = await parley(daemon.home, "--json", "status");
    const { state, reasons } = JSON.parse(away.out) as Status;
    expect([away.exitCode, state]).toEqual([1, "degraded"]);
    expect(reasons.join()).toContain("the store does not work: Redis at");
    expect((await parley(daemon.home, "logs")).exitCode).toBe(0);
    await redis.start();
    await eventually(async () => (await parley(daemon.home, "status")).exitCode === 0);
  });

  test("a stop ends in order although Redis is gone, and a start is refused with what to do", async () => {
    const daemon = await w.start({ config: config() });
    await redis.kill();
    expect(await daemon.stop()).toBe(0);
    await expect(startDaemon({ config: config() })).rejects.toThrow(
      /exited with 1 .*cannot be reached.*correct store\.redis\.url/s,
    );
    await redis.start();
    await redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    await expect(startDaemon({ config: config() })).rejects.toThrow(
      /exited with 78.*"maxmemory-policy noeviction" in redis\.conf/s,
    );
  });
});
