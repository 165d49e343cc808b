// Looks for a schedule that breaks a law, and makes it small.
import { makeApprovalPlan, simulateApproval } from "./approval.ts";
import { makeDeathsPlan } from "./make-deaths-plan.ts";
import { makePlan } from "./make-plan.ts";
import type { Plan } from "./plan.ts";
import { makeNodesPlan } from "./make-nodes-plan.ts";
import { plants, plantsOfDeaths, plantsOfNodes } from "./plants.ts";
import { shrink } from "./shrink.ts";
import { simulate, type Simulated } from "./simulate.ts";
import { simulateNodes } from "./simulate-nodes.ts";
import type { Violation } from "./world.ts";

/** A sort of schedule and how to run one. */
export interface Scenario {
  readonly name: string;
  make(seed: number): Plan;
  run(plan: Plan): Promise<Simulated>;
}

/** The product as it is. */
export const messages: Scenario = { name: "none", make: makePlan, run: (plan) => simulate(plan) };
export const approvals: Scenario = {
  name: "approvals",
  make: makeApprovalPlan,
  run: (plan) => simulateApproval(plan),
};
/** The process dies again and again. */
export const deaths: Scenario = { name: "deaths", make: makeDeathsPlan, run: (plan) => simulate(plan) };
/** Several nodes over one store. */
export const nodes: Scenario = { name: "nodes", make: makeNodesPlan, run: (plan) => simulateNodes(plan) };

/** The product with one bug planted; each must be found. */
export const plantedScenarios: readonly Scenario[] = [
  ...plants.map((plant): Scenario => ({
    name: plant.name,
    make: makePlan,
    run: (plan) => simulate(plan, plant),
  })),
  ...plantsOfNodes.map((plant): Scenario => ({
    name: plant.name,
    make: makeNodesPlan,
    run: (plan) => simulateNodes(plan, plant),
  })),
  ...plantsOfDeaths.map((plant): Scenario => ({
    name: plant.name,
    make: makeDeathsPlan,
    run: (plan) => simulate(plan, plant),
  })),
  { name: "approval-apart", make: makeApprovalPlan, run: (plan) => simulateApproval(plan, true) },
];

export interface Found {
  readonly seed: number;
  /** As it was found. */
  readonly violations: readonly Violation[];
  readonly shrunk: Plan;
  readonly after: Simulated;
}

/**
 * The first failure among these seeds, shrunk; null when there is none. `onRun` is told of each run, and ends
 * the search by true.
 */
export async function search(
  scenario: Scenario,
  seeds: Iterable<number>,
  onRun: (seed: number, simulated: Simulated) => boolean = () => false,
): Promise<Found | null> {
  const failure = await firstFailure(scenario, seeds, onRun);
  return failure === null ? null : shrinkFailure(scenario, failure.seed, failure.violations);
}

/** The same, as it was found. */
export async function firstFailure(
  { make, run }: Scenario,
  seeds: Iterable<number>,
  onRun: (seed: number, simulated: Simulated) => boolean = () => false,
): Promise<Pick<Found, "seed" | "violations"> | null> {
  for (const seed of seeds) {
    const simulated = await run(make(seed));
    if (simulated.violations.length > 0) return { seed, violations: simulated.violations };
    if (onRun(seed, simulated)) return null;
  }
  return null;
}

async function shrinkFailure(
  { make, run }: Omit<Scenario, "name">,
  seed: number,
  violations: readonly Violation[],
): Promise<Found> {
  const laws = new Set(violations.map((violation) => violation.law));
  const shrunk = await shrink(make(seed), async (plan) =>
    (await run(plan)).violations.some(({ law }) => laws.has(law)),
  );
  return { seed, violations, shrunk, after: await run(shrunk) };
}

export function* seedsFrom(first: number, count: number): Generator<number> {
  for (let seed = first; seed < first + count; seed += 1) yield seed;
}
