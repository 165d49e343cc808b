// A sample of the comparison in differential.long.test.ts: the instants of drawn expressions are those that
// the rules give.
import { describe, expect, test } from "vitest";
import { nextInstants } from "../src/index.ts";
import { againstRules, clockOf } from "./differential.ts";
import { drawnExpressions } from "./second-opinion.ts";

const span = { fromMs: Date.parse("2026-01-01T00:00:00Z"), untilMs: Date.parse("2027-01-01T00:00:00Z") };
const drawn = drawnExpressions(7, 10);

describe.for(["Europe/Berlin", "Australia/Lord_Howe", "America/Nuuk"])("%s", (zone) => {
  test("as the rules say", () => {
    const clock = clockOf(zone, span);
    expect(drawn.flatMap((each) => againstRules(each, clock, span))).toEqual([]);
  });
});

test("a time in the last hour of a day, which the clocks skip, does not come on that day", () => {
  const schedule = { kind: "cron", expression: "39 23 * * *", zone: "America/Nuuk" } as const;
  const found = nextInstants(schedule, Date.parse("2026-03-27T12:00:00Z"), 2);
  expect(found.map((atMs) => new Date(atMs).toISOString())).toEqual([
    "2026-03-28T01:39:00.000Z",
    "2026-03-30T00:39:00.000Z",
  ]);
});
