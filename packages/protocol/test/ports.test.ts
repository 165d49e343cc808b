// The clock, the source of chance and the small vocabulary around them.
import { describe, expect, test } from "vitest";
import {
  addUsage,
  Fault,
  isFault,
  noUsage,
  parseThinkingLevel,
  randomUuid,
  sleep,
  systemClock,
  systemIds,
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

describe("ids", () => {
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
  ["enable", "low"],
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
