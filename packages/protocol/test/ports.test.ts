// The clock, the source of chance and the small vocabulary around them.
import { describe, expect, test } from "vitest";
import {
  addUsage,
  deadline,
  Fault,
  isFault,
  localDay,
  noUsage,
  parseThinkingLevel,
  randomUuid,
  recentDays,
  sleep,
  systemClock,
  systemIds,
  type Clock,
} from "../src/index.ts";

describe("the system clock", () => {
  test("a wait longer than 2^31 ms does not fire at once", async () => {
    let fired = false;
    const timer = systemClock().after(2 ** 31 + 1000, () => {
      fired = true;
    });
    await sleep(systemClock(), 20);
    timer.cancel();
    expect(fired).toBe(false);
  });

  test("a sleep ends early when its signal aborts, and at once when it already had", async () => {
    const controller = new AbortController();
    const slept = sleep(systemClock(), 86_400_000, controller.signal);
    controller.abort();
    await slept;
    await sleep(systemClock(), 86_400_000, controller.signal);
  });
});

/** A clock by hand: the timers that are armed, with their times. */
function armed(): { readonly clock: Clock; readonly timers: Map<() => void, number> } {
  const timers = new Map<() => void, number>();
  const after: Clock["after"] = (afterMs, run) => {
    timers.set(run, afterMs);
    return { cancel: () => void timers.delete(run) };
  };
  return { clock: { now: () => 0, mono: () => 0, after }, timers };
}

describe("a wait", () => {
  test("that is over leaves no timer and no listener, however it ended", async () => {
    const { clock, timers } = armed();
    const { signal } = new AbortController();
    const listening: string[] = [];
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...given: Parameters<typeof add>) => (listening.push(given[0]), add(...given));
    signal.removeEventListener = (...given: Parameters<typeof remove>) => (listening.pop(), remove(...given));
    const slept = sleep(clock, 500, signal);
    expect([[...timers.values()], listening]).toEqual([[500], ["abort"]]);
    for (const run of timers.keys()) run();
    await slept;
    expect([timers.size, listening]).toEqual([0, []]);
  });

  test("with a deadline aborts at its time with the words for it, and not once it is taken back", () => {
    const { clock, timers } = armed();
    const [kept, back] = [deadline(clock, 1_500, "a download"), deadline(clock, 7, "another")];
    back.cancel();
    expect([...timers.values()]).toEqual([1_500]);
    for (const run of timers.keys()) run();
    expect([kept.signal.aborted, back.signal.aborted]).toEqual([true, false]);
    expect(kept.signal.reason).toMatchObject({
      code: "unavailable",
      message: "a download took longer than 1.5 s",
    });
  });
});

describe("ids", () => {
  test("bytes become the digits of an id, but for its version and its variant", () => {
    const of = (byte: number): string => randomUuid({ getRandomValues: (into) => into.fill(byte) });
    expect([of(0), of(255)]).toEqual([
      "00000000-0000-4000-8000-000000000000",
      "ffffffff-ffff-4fff-bfff-ffffffffffff",
    ]);
    const counting = randomUuid({ getRandomValues: (into) => into.map((_, at) => at * 16 + at) });
    expect(counting).toBe("00112233-4455-4677-8899-aabbccddeeff");
    expect(randomUuid({ randomUUID: () => "own", getRandomValues: (into) => into })).toBe("own");
  });

  test("a page without https makes the same kind of ids out of bytes", () => {
    const getRandomValues = (into: Uint8Array<ArrayBuffer>): Uint8Array => crypto.getRandomValues(into);
    const made = Array.from({ length: 50 }, () => randomUuid({ getRandomValues }));
    for (const id of made)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(made).size).toBe(50);
  });

  test("a code has its length and draws every letter of its alphabet and no other", () => {
    const alphabet = "ABCDEFG";
    const code = systemIds().code(alphabet, 2000);
    expect(code).toHaveLength(2000);
    expect(new Set(code)).toEqual(new Set(alphabet));
  });
});

test("a fault carries its decision", () => {
  const fault = new Fault("rate_limited", "slow down", { retryAfterMs: 5, cause: "x" });
  expect(isFault(fault, "rate_limited")).toBe(true);
  expect(isFault(fault, "denied")).toBe(false);
  expect(isFault(new Error("x"))).toBe(false);
  expect([fault.retryAfterMs, fault.cause]).toEqual([5, "x"]);
});

test.each([
  ["off", "off"],
  ["ON", "low"],
  ["on", "low"],
  ["enable", "low"],
  ["minimal", "minimal"],
  ["low", "low"],
  ["Medium", "medium"],
  ["high", "high"],
  ["highest", "high"],
  ["XHIGH", "xhigh"],
  ["very high", null],
  ["min", "minimal"],
  [" mid ", "medium"],
  ["harder", "medium"],
  ["ultra", "high"],
  ["max", "high"],
  ["x-high", "xhigh"],
  ["constructor", null],
  ["", null],
])("the thinking level %j is %j", (word, level) => {
  expect(parseThinkingLevel(word)).toBe(level);
});

test("usage adds up, and a cost is known as soon as one is", () => {
  const one = { ...noUsage, inputTokens: 1, cacheReadTokens: 2 };
  expect(addUsage(one, { ...one, costUsd: 0.5 })).toEqual({
    inputTokens: 2,
    outputTokens: 0,
    cacheReadTokens: 4,
    cacheWriteTokens: 0,
    costUsd: 0.5,
  });
  expect(addUsage(one, one)).not.toHaveProperty("costUsd");
});

test("an estimate on either side makes the sum one", () => {
  const sure = {
    inputTokens: 1,
    outputTokens: 20,
    cacheReadTokens: 300,
    cacheWriteTokens: 4_000,
    costUsd: 0.25,
  };
  const guess = { ...noUsage, outputTokens: 1, cacheWriteTokens: 2, estimated: true as const };
  const sum = { ...sure, outputTokens: 21, cacheWriteTokens: 4_002, estimated: true };
  expect([addUsage(sure, guess), addUsage(guess, sure)]).toEqual([sum, sum]);
  expect(addUsage(sure, sure)).toEqual({
    inputTokens: 2,
    outputTokens: 40,
    cacheReadTokens: 600,
    cacheWriteTokens: 8_000,
    costUsd: 0.5,
  });
});

test.each([
  ["2026-03-28T22:59:59Z", "Europe/Berlin", "2026-03-28"],
  ["2026-03-28T23:00:00Z", "Europe/Berlin", "2026-03-29"],
  ["2026-03-28T23:00:00Z", "America/New_York", "2026-03-28"],
  ["2026-01-05T12:00:00Z", "UTC", "2026-01-05"],
])("at %s it is in %s the %s", (at, zone, day) => {
  expect(localDay(Date.parse(at), zone)).toBe(day);
});

test("days are counted back from today in the agent's zone, over a month and a day of 23 hours", () => {
  expect(recentDays(Date.parse("2026-03-01T00:30:00Z"), "America/New_York", 3)).toEqual([
    "2026-02-28",
    "2026-02-27",
    "2026-02-26",
  ]);
  expect(recentDays(Date.parse("2026-03-30T22:30:00Z"), "Europe/Berlin", 3)).toEqual([
    "2026-03-31",
    "2026-03-30",
    "2026-03-29",
  ]);
  expect(recentDays(0, "UTC", 0)).toEqual([]);
});
