// A connection that hears nothing is noticed; one that is only in some trouble is left alone.
import type { ChannelHealth } from "@parley/channels";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { whenSilent } from "../src/silent-connection.ts";

async function told(healthAt: (ms: number) => ChannelHealth): Promise<number> {
  const clock = virtualClock();
  const began = clock.mono();
  let times = 0;
  const stop = whenSilent({
    health: () => healthAt(clock.mono() - began),
    clock,
    onSilent: async () => void (times += 1),
  });
  for (let at = 0; at < 60_000; at += 500) await clock.advance(500);
  stop();
  const before = times;
  for (let at = 0; at < 10_000; at += 500) await clock.advance(500);
  expect(times).toBe(before);
  return times;
}

test.each<readonly [string, boolean, (ms: number) => ChannelHealth]>([
  ["never began", true, () => ({ state: "starting" })],
  ["is refused", true, () => ({ state: "down", reason: "the token" })],
  [
    "heard once and then nothing more",
    true,
    (ms) => ({ state: ms < 5_000 ? "ok" : "degraded", lastInboundAtMs: 1 }),
  ],
  [
    "heard again and again, and then nothing more",
    true,
    (ms) => ({ state: "degraded", lastInboundAtMs: Math.floor(Math.min(ms, 30_000) / 10_000) }),
  ],
  ["hears", false, () => ({ state: "ok" })],
  ["was away for a moment", false, (ms) => ({ state: ms % 20_000 < 15_000 ? "degraded" : "ok" })],
  [
    "is degraded and hears all the same",
    false,
    (ms) => ({ state: "degraded", lastInboundAtMs: Math.floor(ms / 10_000) }),
  ],
])("a connection that %s: %s", async (_what, ails, health) => {
  expect((await told(health)) > 0).toBe(ails);
});

test("it is told twenty seconds after the first look that heard nothing, then at each look, one at a time", async () => {
  const clock = virtualClock();
  const times: number[] = [];
  let done = (): void => {};
  let health: ChannelHealth | undefined = { state: "degraded" };
  const stop = whenSilent({
    health: () => health,
    clock,
    onSilent: () => {
      times.push(clock.mono());
      return new Promise((resolve) => (done = resolve));
    },
  });
  const pass = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += 500) await clock.advance(500);
  };
  await pass(21_500);
  expect(times).toEqual([]);
  await pass(5_000);
  expect(times).toEqual([22_000]);
  // The next look waits until the first word was heard out.
  done();
  await pass(2_500);
  expect(times).toEqual([22_000, 28_500]);
  done();
  health = undefined;
  await pass(4_000);
  health = { state: "down", reason: "x" };
  await pass(20_000);
  expect(times).toHaveLength(2);
  await pass(4_000);
  expect(times).toHaveLength(3);
  done();
  stop();
  await pass(4_000);
  expect([times.length, clock.armed()]).toEqual([3, 0]);
});
