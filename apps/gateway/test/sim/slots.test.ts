// Laws for slots over some seeds: each instant fires once or is counted as missed, never of an old version.
import { expect, test } from "vitest";
import { simulateSlots } from "./slots.ts";

// In 201 a look dies between its rows and what it decided, which must tell what the rows stand for.
test.for([1, 2, 201])("seed %i breaks no law of slots", { timeout: 60_000 }, async (seed) => {
  expect(await simulateSlots(seed)).toEqual([]);
});
