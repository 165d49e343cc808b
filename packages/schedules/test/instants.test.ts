// Holds the instants of cron expressions against written tables and against a calculator of its own, which
// reads every minute off the zone's clocks.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { instantsOfSchedule, nextInstants, staggerOf } from "../src/index.ts";
import type { Schedule } from "../src/job.ts";
import { fieldMatches, isGivenTimes, minutesOf } from "./wall-clock.ts";

const cron = (expression: string, zone = "UTC"): Schedule => ({ kind: "cron", expression, zone });
const iso = (at: number): string => new Date(at).toISOString().replace(/:00\.000Z$/, "Z");
const nextOf = (schedule: Schedule, after: string, count: number): readonly string[] =>
  nextInstants(schedule, Date.parse(after), count).map(iso);

describe("a night on which the clocks change", () => {
  test.for([
    // [what, expression, zone, after, instants]
    [
      "Berlin skips 02:30: it comes at 03:00",
      "30 2 * * *",
      "Europe/Berlin",
      "2026-03-28T12:00Z",
      ["2026-03-29T01:00Z", "2026-03-30T00:30Z"],
    ],
    [
      "Berlin repeats 02:30: the first one counts",
      "30 2 * * *",
      "Europe/Berlin",
      "2026-10-24T12:00Z",
      ["2026-10-25T00:30Z", "2026-10-26T01:30Z"],
    ],
    [
      "a list of skipped times comes once",
      "0,30 2 * * *",
      "Europe/Berlin",
      "2026-03-28T12:00Z",
      ["2026-03-29T01:00Z", "2026-03-30T00:00Z", "2026-03-30T00:30Z"],
    ],
    [
      "a list of repeated times comes once each",
      "0,30 2 * * *",
      "Europe/Berlin",
      "2026-10-24T12:00Z",
      ["2026-10-25T00:00Z", "2026-10-25T00:30Z", "2026-10-26T01:00Z"],
    ],
    [
      "steps go by the clock in a skipped hour",
      "*/30 1-3 * * *",
      "Europe/Berlin",
      "2026-03-28T12:00Z",
      [
        "2026-03-29T00:00Z",
        "2026-03-29T00:30Z",
        "2026-03-29T01:00Z",
        "2026-03-29T01:30Z",
        "2026-03-29T23:00Z",
      ],
    ],
    [
      "steps run in both of two equal hours",
      "*/30 2 * * *",
      "Europe/Berlin",
      "2026-10-24T12:00Z",
      [
        "2026-10-25T00:00Z",
        "2026-10-25T00:30Z",
        "2026-10-25T01:00Z",
        "2026-10-25T01:30Z",
        "2026-10-26T01:00Z",
      ],
    ],
    [
      "Cairo skips midnight",
      "0 0 * * *",
      "Africa/Cairo",
      "2026-04-23T12:00Z",
      ["2026-04-23T22:00Z", "2026-04-24T21:00Z"],
    ],
    [
      "Cairo skips half past midnight",
      "30 0 * * *",
      "Africa/Cairo",
      "2026-04-23T12:00Z",
      ["2026-04-23T22:00Z", "2026-04-24T21:30Z"],
    ],
    [
      "Cairo repeats the last hour of a day",
      "30 23 * * *",
      "Africa/Cairo",
      "2026-10-29T12:00Z",
      ["2026-10-29T20:30Z", "2026-10-30T21:30Z"],
    ],
    [
      "Lord Howe skips half an hour",
      "15 2 * * *",
      "Australia/Lord_Howe",
      "2026-10-03T00:00Z",
      ["2026-10-03T15:30Z", "2026-10-04T15:15Z"],
    ],
    [
      "Lord Howe repeats half an hour",
      "45 1 * * *",
      "Australia/Lord_Howe",
      "2026-04-04T00:00Z",
      ["2026-04-04T14:45Z", "2026-04-05T15:15Z"],
    ],
    [
      "New York skips 02:30",
      "30 2 * * *",
      "America/New_York",
      "2026-03-07T12:00Z",
      ["2026-03-08T07:00Z", "2026-03-09T06:30Z"],
    ],
    [
      "New York repeats 01:30",
      "30 1 * * *",
      "America/New_York",
      "2026-10-31T12:00Z",
      ["2026-11-01T05:30Z", "2026-11-02T06:30Z"],
    ],
  ] as const)("%s", ([, expression, zone, after, instants]) =>
    expect(nextOf(cron(expression, zone), after, instants.length)).toEqual(instants),
  );
});

describe("days that not every year has, and borders", () => {
  test.for([
    ["0 0 29 2 *", "UTC", "2026-01-01T00:00Z", ["2028-02-29T00:00Z", "2032-02-29T00:00Z"]],
    ["0 12 29 2 *", "UTC", "2096-03-01T00:00Z", ["2104-02-29T12:00Z"]],
    ["0 0 L 2 *", "UTC", "2026-11-23T00:00Z", ["2027-02-28T00:00Z", "2028-02-29T00:00Z"]],
    ["59 23 31 12 *", "Europe/Berlin", "2026-12-31T22:58Z", ["2026-12-31T22:59Z", "2027-12-31T22:59Z"]],
    ["0 0 1 1 *", "Pacific/Kiritimati", "2026-12-31T09:59Z", ["2026-12-31T10:00Z", "2027-12-31T10:00Z"]],
    ["0 0 31 * *", "UTC", "2026-03-31T00:00Z", ["2026-05-31T00:00Z", "2026-07-31T00:00Z"]],
    ["0 9 * * FRI#2", "UTC", "2026-01-01T00:00Z", ["2026-01-09T09:00Z", "2026-02-13T09:00Z"]],
    // Either day of the month or weekday, unless a plus wants both.
    ["0 0 13 * FRI", "UTC", "2026-11-12T00:00Z", ["2026-11-13T00:00Z", "2026-11-20T00:00Z"]],
    ["0 0 13 * +FRI", "UTC", "2026-11-13T00:00Z", ["2027-08-13T00:00Z"]],
    // The zone data of Node: Samoa left out 30 December 2011 whole, Brazil and Egypt changed their laws.
    ["0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00Z", ["2012-12-29T22:00Z", "2013-12-29T22:00Z"]],
    ["0 0 4 11 *", "America/Sao_Paulo", "2018-01-01T00:00Z", ["2018-11-04T03:00Z", "2019-11-04T03:00Z"]],
    ["0 12 1 7 *", "Africa/Cairo", "2022-01-01T00:00Z", ["2022-07-01T10:00Z", "2023-07-01T09:00Z"]],
  ] as const)("%s in %s after %s", ([expression, zone, after, instants]) =>
    expect(nextOf(cron(expression, zone), after, instants.length)).toEqual(instants),
  );
});

test("a skipped day of 24 hours is not a day of its own", () => {
  const midnights = nextOf(cron("0 0 * * *", "Pacific/Apia"), "2011-12-28T22:00Z", 3);
  expect(midnights).toEqual(["2011-12-29T10:00Z", "2011-12-30T10:00Z", "2011-12-31T10:00Z"]);
});

test("seconds, and parts of one", () => {
  const each = cron("*/20 * * * * *");
  const { next, previous } = instantsOfSchedule(each);
  const at = Date.parse("2026-11-23T08:00:20.000Z");
  expect([next(at - 1), next(at), next(at + 999)].map((found) => (found ?? 0) - at)).toEqual([
    0, 20_000, 20_000,
  ]);
  expect([previous(at + 1), previous(at), previous(at - 999)].map((found) => (found ?? 0) - at)).toEqual([
    0, -20_000, -20_000,
  ]);
});

test("a one-shot has one instant, a span begins at its anchor", () => {
  const once = instantsOfSchedule({ kind: "at", atMs: 5_000, zone: "UTC" });
  expect([once.next(4_999), once.next(5_000), once.previous(5_001), once.previous(5_000)]).toEqual([
    5_000,
    null,
    5_000,
    null,
  ]);
  const every = instantsOfSchedule({ kind: "every", everyMs: 1_000, anchorMs: 500 });
  expect([-9_000, 499, 500, 1_499, 1_500].map(every.next)).toEqual([500, 500, 1_500, 1_500, 2_500]);
  expect([500, 501, 1_500, 1_501].map(every.previous)).toEqual([null, 500, 500, 1_500]);
});

test("the stagger of a job stays below its bound and never changes", () => {
  fc.assert(
    fc.property(fc.uuid(), fc.integer({ min: 1, max: 3_600_000 }), (id, staggerMs) => {
      const stagger = staggerOf({ id, staggerMs });
      expect(stagger).toBeGreaterThanOrEqual(0);
      expect(stagger).toBeLessThan(staggerMs);
      expect(staggerOf({ id, staggerMs })).toBe(stagger);
    }),
  );
  const spread = new Set(
    Array.from({ length: 100 }, (_, n) => staggerOf({ id: `job-${n}`, staggerMs: 300_000 })),
  );
  expect(spread.size).toBeGreaterThan(90);
  expect(staggerOf({ id: "exact", staggerMs: 0 })).toBe(0);
});

const zones = [
  ["Europe/Berlin", "2026-03-27T00:00Z"],
  ["Europe/Berlin", "2026-10-23T00:00Z"],
  ["America/New_York", "2026-03-06T00:00Z"],
  ["America/New_York", "2026-10-30T00:00Z"],
  ["Africa/Cairo", "2026-04-22T00:00Z"],
  ["Africa/Cairo", "2026-10-28T00:00Z"],
  ["Australia/Lord_Howe", "2026-04-03T00:00Z"],
  ["Australia/Lord_Howe", "2026-10-02T00:00Z"],
  ["America/Santiago", "2026-09-05T00:00Z"],
  ["Africa/Casablanca", "2026-02-13T00:00Z"],
  ["Asia/Kolkata", "2026-12-30T00:00Z"],
  ["Pacific/Chatham", "2026-09-25T00:00Z"],
] as const;

const minute = fc.oneof(
  fc.integer({ min: 0, max: 59 }).map(String),
  fc.constantFrom("0", "30", "15", "45"),
  fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 2, maxLength: 4 }).map((all) => all.join(",")),
  fc.constantFrom("*", "*/7", "*/15", "*/30", "10-40", "5-50/15"),
);
const hour = fc.oneof(
  fc.integer({ min: 0, max: 23 }).map(String),
  fc.constantFrom("0", "1", "2", "3", "23"),
  fc.constantFrom("*", "*/2", "1-3", "0,1,2,3", "2,3", "22-23"),
);
const weekday = fc.constantFrom("*", "*", "*", "1-5", "0", "6,0");

describe("against a calculator that reads every minute off the clocks", () => {
  test.for(zones)("%s after %s", ([zone, after]) => {
    const fromMs = Date.parse(after);
    const days = 3;
    const minutes = minutesOf(zone, fromMs, days);
    fc.assert(
      fc.property(minute, hour, weekday, (...fields) => {
        const [m, h, w] = fields;
        const expression = `${m} ${h} * * ${w}`;
        const reads = (local: {
          readonly hour: number;
          readonly minute: number;
          readonly weekday: number;
        }): boolean =>
          fieldMatches(m, local.minute, 0, 59) &&
          fieldMatches(h, local.hour, 0, 23) &&
          fieldMatches(w, local.weekday, 0, 6);
        const expected = new Set<number>();
        for (const { atMs, shown, skipped, again } of minutes) {
          if (!isGivenTimes(expression)) {
            if (reads(shown)) expected.add(atMs);
          } else if ((reads(shown) && !again) || skipped.some(reads)) expected.add(atMs);
        }
        const found: number[] = [];
        const untilMs = fromMs + days * 86_400_000;
        const { next } = instantsOfSchedule(cron(expression, zone));
        for (let at = next(fromMs - 1); at !== null && at < untilMs; at = next(at)) found.push(at);
        expect(found.map(iso), expression).toEqual([...expected].toSorted((a, b) => a - b).map(iso));
      }),
      { numRuns: 25 },
    );
  });
});

describe("next and previous", () => {
  const schedule: fc.Arbitrary<Schedule> = fc.oneof(
    fc.record({
      kind: fc.constant("every" as const),
      everyMs: fc.integer({ min: 1_000, max: 100_000_000 }),
      anchorMs: fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }),
    }),
    fc
      .tuple(
        minute,
        hour,
        fc.constantFrom("*", "*", "L", "31", "29", "1-7"),
        fc.constantFrom("*", "*", "2,5", "12"),
        weekday,
        fc.constantFrom(...zones.map(([zone]) => zone), "UTC", "Antarctica/Troll", "Asia/Kathmandu"),
      )
      .map(([m, h, d, mo, w, zone]) => cron(`${m} ${h} ${d} ${mo} ${w}`, zone)),
  );
  test("next is later, previous of next leads back, and nothing lies between", () =>
    fc.assert(
      fc.property(schedule, fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }), (one, now) => {
        const { next, previous } = instantsOfSchedule(one);
        const x = next(now);
        if (x === null) return;
        expect(x).toBeGreaterThan(now);
        expect(next(x - 1)).toBe(x);
        expect(previous(x + 1)).toBe(x);
        const before = previous(x);
        if (before === null) return;
        expect(before).toBeLessThanOrEqual(now);
        expect(next(before)).toBe(x);
        const y = next(x);
        if (y !== null) expect(previous(y)).toBe(x);
      }),
      { numRuns: 150 },
    ));
});
