// Two edges and a worker, thirty people, and everything that can happen to processes and to Redis: nothing
// lost, in order, nothing twice but what is flagged.
import { lacks, program } from "@parley/testkit";
import { afterEach, describe, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { chaos, expectHarmless } from "./chaos.ts";

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  afterEach(cleanUp);

  test(
    "2 edges and 1 worker: killed, paused, cut off, Redis killed, hints forgotten",
    { timeout: 300_000 },
    async () => {
      const end = await chaos({
        edges: 2,
        workers: 1,
        chats: 30,
        messages: 4,
        modelMs: 40,
        healMs: 60_000,
        events: [
          "kill the leader",
          "kill Redis",
          "kill a worker",
          "cut all connections",
          "pause the leader",
          "forget BullMQ's keys",
        ],
      });
      expectHarmless(end);
    },
  );
});
