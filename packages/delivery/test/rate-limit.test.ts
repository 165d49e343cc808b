// Pacing: bursts, steady rates, pauses that platforms ask for, and its own bounds.
import { describe, expect, test } from "vitest";
import { virtualClock } from "@parley/testkit";
import { rateLimit } from "../src/rate-limit.ts";

const rates = {
  chat: { burst: 3, everyMs: 1_000 },
  group: { burst: 2, everyMs: 3_000 },
  account: { burst: 30, everyMs: 34 },
};
const patient = Number.POSITIVE_INFINITY;

describe("a chat", () => {
  test("may be written to in a burst, then once a second", () => {
    const own = rateLimit({ ...rates, clock: virtualClock() });
    expect([1, 2, 3, 4, 5].map(() => own.reserve("a", false, patient))).toEqual([0, 0, 0, 1_000, 2_000]);
  });

  test("has its burst again after a quiet time", async () => {
    const clock = virtualClock();
    const own = rateLimit({ ...rates, clock });
    for (let n = 0; n < 3; n += 1) own.reserve("a", false, patient);
    await clock.advance(3_000);
    expect([1, 2, 3, 4].map(() => own.reserve("a", false, patient))).toEqual([0, 0, 0, 1_000]);
  });

  test("does not wait for another chat", () => {
    const own = rateLimit({ ...rates, clock: virtualClock() });
    for (let n = 0; n < 10; n += 1) own.reserve("a", false, patient);
    expect(own.reserve("b", false, patient)).toBe(0);
  });

  test("of a group is slower", () => {
    const own = rateLimit({ ...rates, clock: virtualClock() });
    expect([1, 2, 3].map(() => own.reserve("g", true, patient))).toEqual([0, 0, 3_000]);
  });

  test("takes its slot when the wait is exactly as long as somebody is patient", () => {
    const own = rateLimit({ ...rates, clock: virtualClock() });
    for (let n = 0; n < 3; n += 1) own.reserve("a", false, patient);
    expect([
      own.reserve("a", false, 999),
      own.reserve("a", false, 1_000),
      own.reserve("a", false, 0),
    ]).toEqual([1_000, 1_000, 2_000]);
  });

  test("that nobody waits for keeps its place free", () => {
    const own = rateLimit({ ...rates, clock: virtualClock() });
    for (let n = 0; n < 3; n += 1) own.reserve("a", false, patient);
    expect([1, 2, 3].map(() => own.reserve("a", false, 500))).toEqual([1_000, 1_000, 1_000]);
  });
});

test("an account never exceeds its own rate over all chats", () => {
  const own = rateLimit({ ...rates, clock: virtualClock() });
  const waits = Array.from({ length: 90 }, (_, n) => own.reserve(`chat-${n}`, false, patient));
  expect(waits.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 0));
  expect(waits.at(-1)).toBe(60 * 34);
});

describe("a platform that asks for a pause", () => {
  test("pauses the chat it spoke of", () => {
    const own = rateLimit({ ...rates, clock: virtualClock() });
    own.limited("a", 7_000, null);
    expect(own.reserve("a", false, patient)).toBe(7_000);
    expect(own.reserve("b", false, patient)).toBe(0);
  });

  test("pauses the whole account when it says so, and one chat when it says that", () => {
    const own = rateLimit({ ...rates, clock: virtualClock() });
    for (const lane of ["a", "b", "a"]) own.limited(lane, 3_000, "chat");
    expect(own.reserve("c", false, patient)).toBe(0);
    own.limited("a", 3_000, "account");
    expect(own.reserve("c", false, patient)).toBe(3_000);
  });

  test("is understood chat by chat: what it said of one chat does not make the next one's limit the account's", () => {
    const own = rateLimit({ ...rates, clock: virtualClock() });
    own.limited("a", 1_000, "chat");
    own.limited("b", 4_000, null);
    expect([own.reserve("a", false, 0), own.reserve("b", false, 0), own.reserve("c", false, 0)]).toEqual([
      1_000, 4_000, 0,
    ]);
    // The last chat that was limited counts, not the first.
    own.limited("d", 2_000, null);
    expect(own.reserve("e", false, 0)).toBe(2_000);
  });

  test("pauses the account for no limit that the same chat met twice", async () => {
    const clock = virtualClock();
    const own = rateLimit({ ...rates, clock });
    own.limited("a", 1_000, null);
    await clock.advance(5_000);
    own.limited("a", 4_000, null);
    expect(own.reserve("c", false, patient)).toBe(0);
  });

  test("pauses the whole account when it asks for another chat within a minute, and does not say what it means", async () => {
    const clock = virtualClock();
    const own = rateLimit({ ...rates, clock });
    own.limited("a", 1_000, null);
    await clock.advance(5_000);
    own.limited("b", 4_000, null);
    expect(own.reserve("c", false, patient)).toBe(4_000);
  });
});

test.each([
  [59_999, 4_000],
  [60_000, 0],
])(
  "a second chat that is limited %d ms after the first pauses the account for %d ms",
  async (ms, pauseMs) => {
    const clock = virtualClock();
    const own = rateLimit({ ...rates, clock });
    own.limited("a", 1_000, null);
    await clock.advance(ms);
    own.limited("b", 4_000, null);
    expect(own.reserve("c", false, patient)).toBe(pauseMs);
  },
);

test("a pause is never cut short by a later, shorter one", () => {
  for (const reach of ["chat", "account"] as const) {
    const own = rateLimit({ ...rates, clock: virtualClock() });
    for (const pauseMs of [9_000, 1_000, 0]) own.limited("a", pauseMs, reach);
    expect([own.reserve("a", false, 0), own.reserve("b", false, 0)]).toEqual([
      9_000,
      reach === "chat" ? 0 : 9_000,
    ]);
  }
});

test("a full book of paused chats makes room for new ones only, the oldest first", () => {
  const own = rateLimit({ ...rates, clock: virtualClock() });
  for (let n = 0; n < 10_000; n += 1) own.limited(`chat-${n}`, 9_000, "chat");
  for (let n = 0; n < 100; n += 1) own.reserve("chat-9999", false, 0);
  expect(own.reserve("chat-0", false, 0)).toBe(9_000);
  own.reserve("new", false, 0);
  expect(["chat-1", "chat-9999"].map((lane) => own.reserve(lane, false, 0))).toEqual([9_000, 9_000]);
  expect(own.reserve("chat-0", false, 0)).toBe(0);
});

test("quiet chats are forgotten, so that a flood of chats cannot grow it", async () => {
  const clock = virtualClock();
  const own = rateLimit({ ...rates, account: { burst: 100_000, everyMs: 0 }, clock });
  for (let n = 0; n < 10_000; n += 1) own.reserve(`chat-${n}`, false, patient);
  await clock.advance(60_000);
  own.limited("chat-5", 9_000, null);
  for (let n = 0; n < 5_000; n += 1) own.reserve(`other-${n}`, false, patient);
  expect(own.reserve("chat-5", false, patient)).toBeGreaterThan(8_000);
});
