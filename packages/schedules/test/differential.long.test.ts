// Two hundred drawn expressions in twenty zones over ten years: every instant is the one that the rules give,
// and that systemd gives where it has the same rules.
import { program } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { againstRules, againstSystemd, clockOf, zones } from "./differential.ts";
import { drawnExpressions } from "./second-opinion.ts";
import { withZoneTable, wrongInTable } from "./zone-tables.ts";

const span = { fromMs: Date.parse("2026-01-01T00:00:00Z"), untilMs: Date.parse("2036-01-01T00:00:00Z") };
const drawn = drawnExpressions(1, 200);
/** Not every machine has it, and none needs it: without it the rules alone judge. */
const systemd = program("systemd-analyze");
/** Looked at with each expression, from the beginning of every year on. */
const iterations = 40;

describe.for(zones)("%s", (zone) => {
  const clock = clockOf(zone, span);

  test("the table of its offsets is the platform's", { timeout: 60_000 }, () => {
    expect(wrongInTable(clock, span.fromMs, span.untilMs)).toEqual([]);
  });

  test("as the rules say", { timeout: 900_000 }, () => {
    const differing = withZoneTable(clock, () => drawn.flatMap((each) => againstRules(each, clock, span)));
    expect(differing).toEqual([]);
  });

  test.skipIf("missing" in systemd)("as systemd says", { timeout: 900_000 }, () => {
    const { path } = systemd as { readonly path: string };
    const differing = withZoneTable(clock, () =>
      Array.from({ length: 10 }, (_, nth) => Date.UTC(2026 + nth, 0, 1)).flatMap((fromMs) =>
        againstSystemd(path, drawn, clock, fromMs, iterations),
      ),
    );
    expect(differing).toEqual([]);
  });
});
