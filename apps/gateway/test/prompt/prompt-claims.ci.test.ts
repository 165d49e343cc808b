// Two hundred random installations, drawn anew each time: no section of any of their prompts claims what is
// not so. A failure prints the seed.
import fc from "fast-check";
import { expect, test } from "vitest";
import { falseClaims } from "./claims/check.ts";
import { draws } from "./claims/draw.ts";
import { inSituation } from "./claims/situation.ts";

test("two hundred prompts claim only what is so", { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(draws, async (draw) => {
      expect(await inSituation(draw, (s) => falseClaims(s.prompt, s))).toEqual([]);
    }),
    { numRuns: 200, endOnFailure: true },
  );
});
