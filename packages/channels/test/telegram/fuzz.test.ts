// The short run of fuzz.ts; fuzz.long.test.ts has the long one.
import { test } from "vitest";
import { fuzzTelegram } from "./fuzz.ts";

test("seven hundred generated texts are shown whole by the strict fake, grown and cut", () =>
  fuzzTelegram(700));
