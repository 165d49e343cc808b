// How long who failed waits: the first wait, the growth, the cap and the jitter.
import { expect, test } from "vitest";
import { backoffMs } from "../src/index.ts";

const backoff = { firstMs: 100, mostMs: 1_000, jitter: 0.2 };

test.for([
  [-1, 0, 100],
  [0, 0, 100],
  [1, 0, 100],
  [2, 0, 200],
  [3, 0, 400],
  [4, 0, 800],
  [5, 0, 1_000],
  [1_000, 0, 1_000],
  [1, 0.5, 90],
  [3, 0.5, 360],
  [5, 1, 800],
] as const)("the attempt %d with chance %d waits %d ms", ([attempt, chance, ms]) => {
  expect(backoffMs(backoff, attempt, chance)).toBe(ms);
});

test("without jitter chance counts for nothing, and a cap that is far off stays finite", () => {
  expect(backoffMs({ firstMs: 1, mostMs: Infinity, jitter: 0 }, 5_000, 0.9)).toBe(2 ** 30);
});
