// Nodes that are paused in the middle of their work, past their leases and their term, and come back when
// others have done it: they say nothing more to the platform and change nothing in the store.
import { setTimeout as pause } from "node:timers/promises";
import { silentLog } from "@parley/protocol";
import { redisStore } from "@parley/store";
import { lacks, program } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { fleet, type Fleet } from "./fleet.ts";

/** All that people could see of it, read as an operator reads it. */
async function stored({ redis }: Fleet): Promise<string> {
  const store = await redisStore({ url: redis.url, keyPrefix: "parley", bootId: "look", log: silentLog });
  const sessions = await store.sessions.list({ limit: 100 });
  const transcripts = await Promise.all(
    sessions.map(({ key }) => store.sessions.transcript(key, { limit: 1_000 })),
  );
  const [rows, deliveries] = await Promise.all([
    store.inbox.find({ limit: 1_000 }),
    store.outbox.find({ limit: 1_000 }),
  ]);
  await store.close();
  return JSON.stringify({ sessions, transcripts, rows, deliveries });
}

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  afterEach(cleanUp);

  test(
    "a leader and a worker, paused while an answer grows and another is asked for",
    { timeout: 240_000 },
    async () => {
      const f = await fleet({ streaming: "edit" });
      const { telegram, models } = f.world;
      const paused = [await f.start("edge-1", "edge"), await f.start("worker-1", "worker")];
      let isSlow = true;
      models.reply(async ({ lastUserText }) => ({
        text: `a rather long answer to ${lastUserText} ${"word ".repeat(10)}end`,
        betweenMs: isSlow ? 1_500 : 5,
      }));
      telegram.as(2).says("one");
      await eventually(() => f.world.answers(2).length > 0, 30_000, "the preview");
      const connections = new Set(telegram.calls().map(({ connection }) => connection));
      await Promise.all([f.start("edge-2", "edge"), f.start("worker-2", "worker")]);
      telegram.as(3).says("two");
      await pause(300);
      for (const node of paused) node.kill("SIGSTOP");
      isSlow = false;
      const isDone = (chat: number): boolean =>
        f.world.answers(chat).length === 1 && f.world.answers(chat)[0]?.text.endsWith("end") === true;
      await eventually(() => isDone(2) && isDone(3), 120_000, "both answers by the other nodes");
      await pause(2_000);

      const before = await stored(f);
      const calls = telegram.calls().length;
      for (const node of paused) node.kill("SIGCONT");
      await eventually(
        () => paused.every((node) => /no longer|lease lost/.test(node.log())),
        20_000,
        "what they learn of it",
      );
      await pause(6_000);
      const after = telegram.calls().slice(calls);
      expect(after.filter(({ method }) => method !== "getUpdates")).toEqual([]);
      expect(after.filter(({ connection }) => connections.has(connection))).toEqual([]);
      expect(await stored(f)).toBe(before);
      telegram.as(4).says("three");
      await eventually(() => isDone(4), 30_000, "the next answer");
      await f.close();
    },
  );
});
