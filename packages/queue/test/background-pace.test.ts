// The pace of background work: from whom it keeps a distance, how far that is, and when it ends.
import { expect, test } from "vitest";
import { virtualClock } from "@parley/testkit";
import { backgroundPace, inTurn } from "../src/background-pace.ts";

test.each([
  [0, 100],
  [0.5, 100],
  [0.6, 178],
  [0.7, 316],
  [0.9, 1_000],
  [1, 1_000],
])("on a thread that is busy for %d of its time two starts are %d ms apart", (busy, gapMs) => {
  const pace = backgroundPace({ areServed: () => true, busy: () => busy, clock: virtualClock() });
  expect(pace.leftMs()).toBe(0);
  pace.began();
  expect(Math.round(pace.leftMs() ?? -1)).toBe(gapMs);
});

test("people count as served for two seconds after their last turn, and not at the end of the second one", async () => {
  const clock = virtualClock();
  let served = false;
  const pace = backgroundPace({ areServed: () => served, busy: () => 0, clock });
  expect(pace.leftMs()).toBeNull();
  served = true;
  expect(pace.leftMs()).toBe(0);
  served = false;
  await clock.advance(1_999);
  expect(pace.leftMs()).toBe(0);
  await clock.advance(1);
  expect(pace.leftMs()).toBeNull();
});

test("who begins while nobody is served is counted too, once somebody is", async () => {
  const clock = virtualClock();
  let served = false;
  const pace = backgroundPace({ areServed: () => served, busy: () => 0, clock });
  await inTurn(pace, clock, new AbortController().signal);
  await clock.advance(40);
  served = true;
  expect(pace.leftMs()).toBe(60);
  let isOver = false;
  const waiting = inTurn(pace, clock, new AbortController().signal).then(() => (isOver = true));
  await clock.advance(59);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await waiting;
  expect(pace.leftMs()).toBe(100);
});

test("an abort ends the wait at once and counts as no start", async () => {
  const clock = virtualClock();
  const pace = backgroundPace({ areServed: () => true, busy: () => 0, clock });
  pace.began();
  const controller = new AbortController();
  const waiting = inTurn(pace, clock, controller.signal);
  await clock.advance(30);
  controller.abort();
  await waiting;
  expect([pace.leftMs(), clock.armed()]).toEqual([70, 0]);
});
