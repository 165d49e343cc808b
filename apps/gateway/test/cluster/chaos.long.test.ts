// Five hundred people, ten messages each, through everything that can happen, in two shapes of a gateway.
import { lacks, program } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { chaos, expectHarmless, type Misfortune } from "./chaos.ts";

const round: readonly Misfortune[] = [
  "kill the leader",
  "kill Redis",
  "kill a worker",
  "cut all connections",
  "pause the leader",
  "forget BullMQ's keys",
  "pause a worker",
];

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  afterEach(cleanUp);

  for (const [edges, workers] of [
    [2, 1],
    [1, 3],
  ] as const) {
    test(
      `${edges} edges and ${workers} workers, 500 people, 10 messages each`,
      { timeout: 900_000 },
      async () => {
        const end = await chaos({
          edges,
          workers,
          chats: 500,
          messages: 10,
          modelMs: 40,
          healMs: 400_000,
          events: [...round, ...round],
        });
        expectHarmless(end);
        expect(end.verdicts).toHaveLength(500);
      },
    );
  }
});
