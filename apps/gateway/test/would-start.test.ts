// What validation lets through comes up, and what it refuses does not: held against the daemon's own start. More of it in
// would-start.ci.test.ts.
import fc from "fast-check";
import { expect, test } from "vitest";
import { oddConfigs, rich } from "./odd-configs.ts";
import { bothWords } from "./would-start.ts";

test("a config with something at nearly every key is valid and comes up", async () => {
  expect(await bothWords(rich)).toEqual({ validate: null, start: null });
}, 30_000);

test("validation says that all is well if and only if the start comes up", async () => {
  let cameUp = 0;
  await fc.assert(
    fc.asyncProperty(oddConfigs, async (config) => {
      const { validate, start } = await bothWords(config);
      if (start === null) cameUp += 1;
      expect(start === null, `validate: ${validate}\nstart: ${start}`).toBe(validate === null);
    }),
    { numRuns: 40, seed: 11, endOnFailure: true },
  );
  // Of both kinds there are enough to say something.
  expect(cameUp).toBeGreaterThan(8);
  expect(cameUp).toBeLessThan(32);
}, 120_000);
