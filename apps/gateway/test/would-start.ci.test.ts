// Five hundred configs with odd values, each validated and started.
import fc from "fast-check";
import { expect, test } from "vitest";
import { oddConfigs } from "./odd-configs.ts";
import { bothWords } from "./would-start.ts";

test("validation says that all is well if and only if the start comes up", async () => {
  let cameUp = 0;
  await fc.assert(
    fc.asyncProperty(oddConfigs, async (config) => {
      const { validate, start } = await bothWords(config);
      if (start === null) cameUp += 1;
      expect(start === null, `validate: ${validate}\nstart: ${start}`).toBe(validate === null);
    }),
    { numRuns: 500, seed: 12, endOnFailure: true },
  );
  // Of both kinds there are enough to say something.
  expect(cameUp).toBeGreaterThan(100);
  expect(cameUp).toBeLessThan(400);
}, 600_000);
