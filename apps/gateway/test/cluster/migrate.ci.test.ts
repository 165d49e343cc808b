// From one process on SQLite to Redis and back: the conversation goes on, and no store is used that is half a
// copy or in use.
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { lacks, program, redisServer } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { parley } from "../e2e/operator.ts";
import { world } from "../e2e/world.ts";

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  afterEach(cleanUp);

  test(
    "what was said before is known after, in both directions; a running gateway is left alone",
    { timeout: 300_000 },
    async () => {
      const [w, redis] = await Promise.all([world(), redisServer()]);
      const config = (driver: string): object => ({ store: { driver, redis: { url: redis.url } } });
      const alice = w.telegram.as(7);
      const first = await w.start({ config: config("sqlite") });
      const { home } = first;
      alice.says("my name is Alice");
      await w.answered(7, 1);
      const running = await parley(home, "migrate", "--to", "redis");
      expect([running.exitCode, running.err]).toEqual([
        78,
        expect.stringContaining("in use by another Parley"),
      ]);
      await first.stop();

      const there = await parley(home, "migrate", "--to", "redis");
      expect([there.exitCode, there.out]).toEqual([
        0,
        expect.stringMatching(/Copied and compared: .*1 rows.*\n.*store\.driver to "redis"/),
      ]);
      const again = await parley(home, "migrate", "--to", "redis");
      expect([again.exitCode, again.err]).toEqual([78, expect.stringContaining("is not empty")]);
      const second = await w.start({ home, config: config("redis") });
      alice.says("what is my name?");
      await w.answered(7, 2);
      expect(JSON.stringify(w.models.requests().at(-1)?.body)).toContain("my name is Alice");
      await second.stop();

      await rename(join(home, "state.db"), join(home, "old.db"));
      const back = await parley(home, "migrate", "--to", "sqlite");
      expect([back.exitCode, back.out]).toEqual([0, expect.stringContaining("2 rows")]);
      await w.start({ home, config: config("sqlite") });
      alice.says("and now?");
      await w.answered(7, 3);
      expect(JSON.stringify(w.models.requests().at(-1)?.body)).toContain("what is my name?");
      await Promise.all([w.close(), redis.close()]);
    },
  );
});
