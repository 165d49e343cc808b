// How long one call may take for each of its stages, to the millisecond, and what begins each count anew.
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { timeouts, type Timeouts } from "../src/sdk/timeouts.ts";

const timers = { connectMs: 10, firstTokenMs: 200, idleMs: 50, totalMs: 1_000 };

function begun(more: Partial<typeof timers> = {}): {
  readonly clock: VirtualClock;
  readonly wait: Timeouts;
  readonly lost: (readonly [atMs: number, stage: string, waitedMs: number])[];
} {
  const clock = virtualClock();
  const lost: (readonly [number, string, number])[] = [];
  const wait = timeouts({ ...timers, ...more }, clock, (stage, waitedMs) =>
    lost.push([clock.mono(), stage, waitedMs]),
  );
  return { clock, wait, lost };
}

test("the head has its time from the call, the first token its own from the head, each event its own", async () => {
  const head = begun();
  await head.clock.advance(9);
  expect(head.lost).toEqual([]);
  await head.clock.advance(1_000);
  expect(head.lost).toEqual([[10, "headers", 10]]);

  const first = begun();
  await first.clock.advance(9);
  first.wait.headers();
  await first.clock.advance(199);
  expect(first.lost).toEqual([]);
  await first.clock.advance(1_000);
  expect(first.lost).toEqual([[209, "first token", 200]]);

  const next = begun();
  next.wait.headers();
  next.wait.firstToken();
  await next.clock.advance(49);
  expect(next.lost).toEqual([]);
  await next.clock.advance(1_000);
  expect(next.lost).toEqual([[50, "next event", 50]]);
});

test("events begin the count of the next one anew, and nothing else does", async () => {
  const { clock, wait, lost } = begun();
  wait.progress();
  wait.reading(true);
  wait.firstToken();
  await clock.advance(9);
  wait.headers();
  // Neither events without a token nor another head gives the first token more time.
  await clock.advance(150);
  wait.progress();
  wait.headers();
  wait.reading(true);
  await clock.advance(49);
  wait.firstToken();
  expect([clock.mono(), lost]).toEqual([208, []]);
  for (let n = 0; n < 4; n += 1) {
    await clock.advance(49);
    wait.progress();
  }
  wait.firstToken();
  await clock.advance(49);
  expect(lost).toEqual([]);
  await clock.advance(1);
  expect(lost).toEqual([[454, "next event", 50]]);
});

test("time in which nobody reads is not the server's, between events", async () => {
  const { clock, wait, lost } = begun();
  wait.headers();
  wait.firstToken();
  wait.reading(false);
  await clock.advance(500);
  expect(lost).toEqual([]);
  wait.reading(true);
  await clock.advance(49);
  expect(lost).toEqual([]);
  await clock.advance(1);
  expect(lost).toEqual([[550, "next event", 50]]);
  const first = begun();
  first.wait.headers();
  first.wait.reading(false);
  await first.clock.advance(150);
  first.wait.reading(true);
  await first.clock.advance(50);
  expect(first.lost).toEqual([[200, "first token", 200]]);
});

test("the whole answer has its time, however much comes in between, and also before it begins", async () => {
  const dripping = begun();
  dripping.wait.headers();
  dripping.wait.firstToken();
  for (let n = 0; n < 99; n += 1) {
    await dripping.clock.advance(10);
    dripping.wait.progress();
  }
  await dripping.clock.advance(9);
  expect(dripping.lost).toEqual([]);
  await dripping.clock.advance(1);
  expect(dripping.lost).toEqual([[1_000, "end of the answer", 1_000]]);
  const short = begun({ totalMs: 5 });
  await short.clock.advance(5);
  expect(short.lost).toEqual([[5, "end of the answer", 5]]);
  const unread = begun();
  unread.wait.headers();
  unread.wait.firstToken();
  unread.wait.reading(false);
  await unread.clock.advance(1_000);
  expect(unread.lost).toEqual([[1_000, "end of the answer", 1_000]]);
});

test("a call that is over leaves no timer, in whatever stage", async () => {
  for (const stages of [
    [],
    ["headers"],
    ["headers", "firstToken"],
    ["headers", "firstToken", "progress"],
  ] as const) {
    const { clock, wait, lost } = begun();
    for (const stage of stages) wait[stage]();
    wait.end();
    expect(clock.armed()).toBe(0);
    await clock.advance(10_000);
    expect(lost).toEqual([]);
  }
});
