// Laws for sub-agents over a few seeds: each ends, is told once and to its parent alone, and the limits hold.
import { expect, test } from "vitest";
import { simulateChildren } from "./children.ts";

test.for([1, 2])("seed %i breaks no law of sub-agents", { timeout: 60_000 }, async (seed) => {
  expect(await simulateChildren(seed)).toEqual([]);
});
