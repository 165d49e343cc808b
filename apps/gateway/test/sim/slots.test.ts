// Laws for slots over some seeds: each instant fires once or is counted as missed, never of an old version.
import { expect, test } from "vitest";
import { simulateSlots } from "./slots.ts";

test.for([1, 2])("seed %i breaks no law of slots", { timeout: 60_000 }, async (seed) => {
  expect(await simulateSlots(seed)).toEqual([]);
});
