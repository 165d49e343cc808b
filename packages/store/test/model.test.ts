// The driver against the reference: random schedules on three handles of one store, and on one that remembers
// what it read, printed with their seed when they differ.
import fc from "fast-check";
import { test } from "vitest";
import { runSchedule, schedules } from "./model/schedule.ts";
import { openSqlite } from "./open-sqlite.ts";
import { inTurns } from "./subject.ts";

const long = process.env["PARLEY_LONG"] === "1";

test.each([3, 1])(
  "%i handles on one file answer as the reference does",
  { timeout: long ? 600_000 : 60_000 },
  async (count) => {
    const property = fc.asyncProperty(schedules, async (moves) => {
      const { handles, clock, close } = await openSqlite(count);
      try {
        await runSchedule(moves, inTurns(handles), clock);
      } finally {
        await close();
      }
    });
    await fc.assert(property, { numRuns: long ? 1500 : 15 });
  },
);
