// A hundred and fifty configs with odd values, each validated and started.
import { test } from "vitest";
import { holdOddConfigs } from "./would-start.ts";

test(
  "validation says that all is well if and only if the start comes up",
  () => holdOddConfigs(150, 12),
  600_000,
);
