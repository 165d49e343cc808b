// So many random installations, and no section of any of their prompts claims what is not so. A failure
// prints the seed.
import fc from "fast-check";
import { expect } from "vitest";
import { falseClaims } from "./check.ts";
import { draws } from "./draw.ts";
import { inSituation } from "./situation.ts";

export async function claimOnlyWhatIsSo(numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(draws, async (draw) => {
      expect(await inSituation(draw, (s) => falseClaims(s.prompt, s))).toEqual([]);
    }),
    { numRuns, endOnFailure: true },
  );
}
