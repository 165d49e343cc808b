// A thousand configs with odd values, each validated and started.
import { test } from "vitest";
import { holdOddConfigs } from "./would-start.ts";

test(
  "validation says that all is well if and only if the start comes up",
  () => holdOddConfigs(1_000, 13),
  600_000,
);
