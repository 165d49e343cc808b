// The scale-out driver under kill -9, as kill.ci.test.ts has it, for long.
import { lacks, program } from "@parley/testkit";
import { describe, test } from "vitest";
import { killOnRedis } from "./kill-on-redis.ts";

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  test(
    "killed processes and a killed server lose nothing, answer once, in order, and flag what may show twice",
    { timeout: 300_000 },
    () => killOnRedis(60),
  );
});
