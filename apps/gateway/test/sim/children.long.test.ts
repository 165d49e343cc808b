// Laws for sub-agents over many seeds.
import { expect, test } from "vitest";
import { simulateChildren } from "./children.ts";

const seeds = Array.from({ length: 150 }, (_, nth) => nth + 100);

test.for(seeds)("seed %i breaks no law of sub-agents", { timeout: 120_000 }, async (seed) => {
  expect(await simulateChildren(seed)).toEqual([]);
});
