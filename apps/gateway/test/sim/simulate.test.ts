// Puts the message path through past failures, then through some seeds, each judged by the laws of DESIGN
// section 1. CI's longer tier goes on where these seeds end (simulate.ci.test.ts).
import { describe, expect, test } from "vitest";
import corpus from "./corpus.json" with { type: "json" };
import { makePlan } from "./make-plan.ts";
import type { Plan } from "./plan.ts";
import { holds, patienceMs } from "./holds.ts";
import { approvals, deaths, messages } from "./search.ts";
import { simulate, type Simulated } from "./simulate.ts";

describe("the message path", () => {
  test.for(corpus)("stands what once broke it, or would: $found", async ({ plan }) => {
    const { violations } = await simulate(plan as Plan);
    expect(violations).toEqual([]);
  });

  test(
    "keeps its laws over crashes, lost answers, doubles and delays at every port, and has one history for one seed",
    { timeout: patienceMs },
    async () => {
      const runs: Simulated[] = [];
      await holds(messages, 1, 12, (run) => runs.push(run));
      for (const [n, once] of runs.slice(0, 4).entries()) {
        const again = await simulate(makePlan(n + 1));
        expect(again.hash).toBe(once.hash);
        expect(again.history).toEqual(once.history);
      }
      expect(new Set(runs.map(({ hash }) => hash)).size, "another history for another seed").toBe(12);
    },
  );

  test(
    "buries what kills the process and nothing else, however often it is killed from outside",
    { timeout: patienceMs },
    () => holds(deaths, 1, 4),
  );

  test(
    "parks, is decided and goes on: an approval is used once, with its call's intent",
    { timeout: patienceMs },
    () => holds(approvals, 1, 20),
  );
});
