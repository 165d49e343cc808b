// What validation lets through comes up, and what it refuses does not: held against the daemon's own start.
// More of it in would-start.ci.test.ts.
import { expect, test } from "vitest";
import { rich } from "./odd-configs.ts";
import { bothWords, holdOddConfigs } from "./would-start.ts";

test("a config with something at nearly every key is valid and comes up", async () => {
  expect(await bothWords(rich)).toEqual({ validate: null, start: null });
}, 30_000);

test(
  "validation says that all is well if and only if the start comes up",
  () => holdOddConfigs(20, 11),
  120_000,
);
