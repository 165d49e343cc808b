// When the process's timer looks at jobs: the one that waited longest first, all at once when nobody is
// served, and a few at a time beside people.
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { jobTimer } from "../../src/schedules/job-timer.ts";

async function looks(leftMs: (sinceMs: number) => number | null) {
  const clock = virtualClock();
  const looked: string[] = [];
  const begunAt: number[] = [];
  let beganAtMs = -Infinity;
  const startMs = clock.now();
  const timer = jobTimer({
    cells: { list: async () => [] },
    isOn: () => true,
    async fire(id) {
      looked.push(id);
      begunAt.push(clock.now() - startMs);
      return clock.now() + 3_600_000;
    },
    pace: {
      leftMs: () => leftMs(clock.now() - beganAtMs),
      began: () => void (beganAtMs = clock.now()),
    },
    isShared: false,
    clock,
    log: silentLog,
  });
  await clock.advance(1);
  for (let nth = 0; nth < 10; nth += 1) timer.changed(`job-${nth}`);
  await clock.advance(1_000);
  await timer.stop();
  return { looked, begunAt };
}

test("when nobody is served, jobs that are due are looked at without a pause", async () => {
  const { looked, begunAt } = await looks(() => null);
  expect(looked).toHaveLength(10);
  expect(new Set(begunAt).size).toBe(1);
});

test("beside people four at a time, with the pause that the pace says, and none is left out", async () => {
  const { looked, begunAt } = await looks((sinceMs) => Math.max(0, 100 - sinceMs));
  expect(new Set(looked).size).toBe(10);
  const groups = [...new Set(begunAt)].map((at) => begunAt.filter((each) => each === at).length);
  expect(groups).toEqual([4, 4, 2]);
  expect((begunAt.at(-1) ?? 0) - (begunAt[0] ?? 0)).toBe(200);
});
