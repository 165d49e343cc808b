// Laws for slots over many seeds.
import { expect, test } from "vitest";
import { simulateSlots } from "./slots.ts";

const seeds = Array.from({ length: 200 }, (_, nth) => nth + 100);

test.for(seeds)("seed %i breaks no law of slots", { timeout: 120_000 }, async (seed) => {
  expect(await simulateSlots(seed)).toEqual([]);
});
