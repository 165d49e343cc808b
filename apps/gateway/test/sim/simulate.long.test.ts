// Twenty thousand schedules that the short suite does not run.
import { expect, test } from "vitest";
import { messages, search, seedsFrom } from "./search.ts";
import { tellPlan, tellViolations } from "./tell.ts";

test("twenty thousand more schedules keep the laws", { timeout: 3_600_000 }, async () => {
  const found = await search(messages, seedsFrom(100_000, 20_000));
  expect(found === null ? "" : `${tellPlan(found.shrunk)}\n${tellViolations(found.after.violations)}`).toBe("");
});
