// Puts the message path through past failures, then through some seeds, each judged by the laws of DESIGN
// section 1. CI's longer tier goes on where these seeds end (simulate.ci.test.ts).
import { describe, expect, test } from "vitest";
import corpus from "./corpus.json" with { type: "json" };
import { makePlan } from "./make-plan.ts";
import type { Plan } from "./plan.ts";
import { holds, patienceMs } from "./holds.ts";
import { approvals, deaths, messages, seedsFrom } from "./search.ts";
import { simulate } from "./simulate.ts";

describe("the message path", () => {
  test.for(corpus)("stands what once broke it, or would: $found", async ({ plan }) => {
    const { violations } = await simulate(plan as Plan);
    expect(violations).toEqual([]);
  });

  test("has one history for one seed", async () => {
    for (const seed of seedsFrom(1, 10)) {
      const [once, again] = [await simulate(makePlan(seed)), await simulate(makePlan(seed))];
      expect(again.hash).toBe(once.hash);
      expect(again.history).toEqual(once.history);
    }
  });

  test("has another history for another seed", async () => {
    const hashes = new Set<string>();
    for (const seed of seedsFrom(1, 10)) hashes.add((await simulate(makePlan(seed))).hash);
    expect(hashes.size).toBe(10);
  });

  test(
    "keeps its laws over crashes, lost answers, doubles and delays at every port",
    { timeout: patienceMs },
    () => holds(messages, 1, 50),
  );

  test(
    "buries what kills the process and nothing else, however often it is killed from outside",
    { timeout: patienceMs },
    () => holds(deaths, 1, 20),
  );

  test(
    "parks, is decided and goes on: an approval is used once, with its call's intent",
    { timeout: patienceMs },
    () => holds(approvals, 1, 30),
  );
});
