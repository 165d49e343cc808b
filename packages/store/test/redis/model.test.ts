// The driver against the reference: random schedules on three handles of one server, printed with their seed
// when they differ.
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, test } from "vitest";
import { runSchedule, schedules } from "../model/schedule.ts";
import { inTurns } from "../subject.ts";
import { openRedis } from "./open-redis.ts";

const long = process.env["PARLEY_LONG"] === "1";

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await redisServer({ args: ["--appendfsync", "no"] });
  });
  afterAll(() => server.close());

  test("three handles answer as the reference does", { timeout: long ? 900_000 : 60_000 }, async () => {
    const property = fc.asyncProperty(schedules, async (moves) => {
      const { handles, clock, close } = await openRedis(server, 3);
      try {
        await runSchedule(moves, inTurns(handles), clock);
      } finally {
        await close();
      }
    });
    await fc.assert(property, { numRuns: long ? 1500 : 30 });
  });
});
