// Daemon and Redis killed in turn under traffic. No lock proves a dead daemon dead to a store that others
// share, so its work is taken up when its leases end: half a minute for a turn, a minute for a delivery.
import { setTimeout as pause } from "node:timers/promises";
import { silentLog } from "@parley/protocol";
import { redisStore } from "@parley/store";
import { lacks, program, redisServer } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { answerTo, judge, said } from "../crash/said.ts";
import { cleanUp, eventually } from "./daemon.ts";
import { world } from "./world.ts";

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  afterEach(cleanUp);

  test(
    "daemon and Redis killed in turn: nothing lost, in order, and what is said twice is flagged",
    { timeout: 400_000 },
    async () => {
      const [w, redis] = await Promise.all([world(), redisServer()]);
      const config = { store: { driver: "redis", redis: { url: redis.url } } };
      w.models.reply(async (call) => {
        await pause(Math.random() * 200);
        return answerTo(call);
      });
      const chats = [21, 22, 23, 24, 25];
      const counts = new Map<number, number>();
      const say = (chat: number): void => {
        const n = (counts.get(chat) ?? 0) + 1;
        counts.set(chat, n);
        w.telegram.as(chat).says(said(n));
      };
      const verdict = (chat: number) =>
        judge(
          w.answers(chat).map(({ text }) => text),
          counts.get(chat) ?? 0,
        );
      let daemon = await w.start({ config });
      for (let round = 0; round < 4; round += 1) {
        for (let n = 0; n < 12; n += 1) {
          for (const chat of chats) if (Math.random() < 0.4) say(chat);
          await pause(50);
        }
        await redis.kill();
        await pause(100);
        await redis.start();
        for (const chat of chats) say(chat);
        await pause(Math.random() * 400);
        daemon.kill("SIGKILL");
        await daemon.exited;
        for (const chat of chats) say(chat);
        daemon = await w.start({ home: daemon.home, config });
        for (const chat of chats) {
          await eventually(() => verdict(chat).lost.length === 0, 90_000, `every answer in chat ${chat}`);
        }
      }
      expect(await daemon.stop()).toBe(0);

      const store = await redisStore({ url: redis.url, keyPrefix: "parley", bootId: "look", log: silentLog });
      const deliveries = await store.outbox.find({ limit: 100_000 });
      const flagged = deliveries.flatMap(({ parts }) => parts).filter((part) => part.flagged);
      const doubled = chats.flatMap((chat) => verdict(chat).doubled);
      // An answer may be to several messages at once, so it is texts that are counted.
      expect(new Set(doubled.map(String)).size === 0 || flagged.length > 0).toBe(true);
      expect(chats.map((chat) => verdict(chat).late)).toEqual(chats.map(() => []));
      expect((await store.inbox.find({ limit: 100_000 })).filter(({ state }) => state !== "ended")).toEqual(
        [],
      );
      await store.close();
      await Promise.all([w.close(), redis.close()]);
    },
  );
});
