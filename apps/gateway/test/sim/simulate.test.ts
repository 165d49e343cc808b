// The message path under thousands of schedules: past failures first, then many seeds, each judged by the laws of DESIGN section 1.
import { describe, expect, test } from "vitest";
import corpus from "./corpus.json" with { type: "json" };
import { makePlan } from "./make-plan.ts";
import type { Plan } from "./plan.ts";
import { approvals, messages, search, seedsFrom, type Scenario } from "./search.ts";
import { simulate } from "./simulate.ts";
import { tellPlan, tellViolations } from "./tell.ts";

const patienceMs = 300_000;

async function holds(scenario: Scenario, first: number, count: number): Promise<void> {
  let runs = 0;
  let harmed = 0;
  const found = await search(scenario, seedsFrom(first, count), (_seed, run) => {
    runs += 1;
    harmed += run.harmed;
    return false;
  });
  const told =
    found === null ? "" : `${tellPlan(found.shrunk)}\n${tellViolations(found.after.violations)}\n${JSON.stringify(found.shrunk)}`;
  expect(told).toBe("");
  expect(runs).toBe(count);
  // A simulation in which nothing goes wrong shows nothing.
  expect(harmed).toBeGreaterThan(count / 2);
}

describe("the message path", () => {
  test.for(corpus)("stands what once broke it, or would: $found", async ({ plan }) => {
    const { violations } = await simulate(plan as Plan);
    expect(violations).toEqual([]);
  });

  test("has one history for one seed", async () => {
    for (const seed of seedsFrom(1, 25)) {
      const [once, again] = [await simulate(makePlan(seed)), await simulate(makePlan(seed))];
      expect(again.hash).toBe(once.hash);
      expect(again.history).toEqual(once.history);
    }
  });

  test("has another history for another seed", async () => {
    const hashes = new Set<string>();
    for (const seed of seedsFrom(1, 25)) hashes.add((await simulate(makePlan(seed))).hash);
    expect(hashes.size).toBe(25);
  });

  test("keeps its laws over crashes, lost answers, doubles and delays at every port", { timeout: patienceMs }, () =>
    holds(messages, 1, 1_500),
  );

  test("parks, is decided and goes on: an approval is used once, with its call's intent", { timeout: patienceMs }, () =>
    holds(approvals, 1, 400),
  );
});
