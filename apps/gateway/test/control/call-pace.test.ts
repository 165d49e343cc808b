import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { callPace } from "../../src/api/call-pace.ts";

test("a program has its calls at once, and as many again in a minute; another's are its own", async () => {
  const clock = virtualClock();
  const pace = callPace(60, clock);
  const taken = (peer: string): number => {
    for (let calls = 0; ; calls += 1)
      try {
        pace.take(peer);
      } catch (error) {
        expect(error).toMatchObject({ code: "rate_limited", retryAfterMs: 1_000 });
        return calls;
      }
  };
  expect([taken("a"), taken("a"), taken("b")]).toEqual([60, 0, 60]);
  await clock.advance(3_000);
  expect(taken("a")).toBe(3);
  await clock.advance(3_600_000);
  expect(taken("a")).toBe(60);
});
