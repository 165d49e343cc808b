// The long run of fuzz.ts: minutes, with PARLEY_LONG=1.
import { test } from "vitest";
import { fuzzTelegram } from "./fuzz.ts";

test(
  "a hundred thousand generated texts are shown whole by the strict fake, grown and cut",
  { timeout: 3_600_000 },
  () => fuzzTelegram(100_000),
);
