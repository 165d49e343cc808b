// Two hundred drawn expressions in twenty zones over ten years: every instant is the one that the rules give,
// and that systemd gives where it has the same rules.
import { lacks, program, programPath } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { againstRules, againstSystemd, clockOf, zones } from "./differential.ts";
import { drawnExpressions } from "./second-opinion.ts";
import { withZoneTable, wrongInTable } from "./zone-tables.ts";

const span = { fromMs: Date.parse("2026-01-01T00:00:00Z"), untilMs: Date.parse("2036-01-01T00:00:00Z") };
const drawn = drawnExpressions(1, 200);
const systemd = program("systemd-analyze");
const lacksSystemd = lacks(systemd);

describe.for(zones)("%s", (zone) => {
  const clock = clockOf(zone, span);

  test("the table of its offsets is the platform's", { timeout: 60_000 }, () => {
    expect(wrongInTable(clock, span.fromMs, span.untilMs)).toEqual([]);
  });

  test("as the rules say", { timeout: 900_000 }, () => {
    const differing = withZoneTable(clock, () => drawn.flatMap((each) => againstRules(each, clock, span)));
    expect(differing).toEqual([]);
  });

  test.skipIf(lacksSystemd)("as systemd says", { timeout: 900_000 }, () => {
    const path = programPath(systemd);
    const differing = withZoneTable(clock, () => againstSystemd(path, drawn, clock, span));
    expect(differing).toEqual([]);
  });
});
