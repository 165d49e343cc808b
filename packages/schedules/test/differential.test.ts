// A sample of the comparison in differential.long.test.ts: the instants of drawn expressions are those that
// the rules give.
import { describe, expect, test } from "vitest";
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
