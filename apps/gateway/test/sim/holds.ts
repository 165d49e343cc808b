// What the suites ask of many schedules: none breaks a law, and things did go wrong in them. A failure is
// told shrunk, and as data for the corpus.
import { expect } from "vitest";
import { search, seedsFrom, type Scenario } from "./search.ts";
import type { Simulated } from "./simulate.ts";
import { tellPlan, tellViolations } from "./tell.ts";

/** Ends what hangs; a busy machine must not fail a test that would have passed. */
export const patienceMs = 600_000;

export async function holds(
  scenario: Scenario,
  firstSeed: number,
  count: number,
  onRun: (run: Simulated) => void = () => {},
): Promise<void> {
  let runs = 0;
  let harmed = 0;
  const found = await search(scenario, seedsFrom(firstSeed, count), (_seed, run) => {
    runs += 1;
    harmed += run.harmed;
    onRun(run);
    return false;
  });
  const told =
    found === null
      ? ""
      : `${tellPlan(found.shrunk)}\n${tellViolations(found.after.violations)}\n${JSON.stringify(found.shrunk)}`;
  expect(told).toBe("");
  expect(runs).toBe(count);
  // A simulation in which nothing goes wrong shows nothing.
  expect(harmed).toBeGreaterThan(count / 2);
}
