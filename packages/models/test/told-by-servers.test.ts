// Waits and counts as servers tell them, in every form and at its edges.
import { expect, test } from "vitest";
import { withPlainCounts } from "../src/sdk/counts.ts";
import { retryAfterMs } from "../src/sdk/retry-after.ts";

const now = Date.UTC(2026, 0, 1, 12);
const weekMs = 604_800_000;

test.each<readonly [string, { readonly [name: string]: string }, string, number | undefined]>([
  ["nothing", {}, "", undefined],
  ["milliseconds before seconds", { "retry-after-ms": "250.2", "retry-after": "7" }, "", 251],
  ["no milliseconds at all", { "retry-after-ms": " ", "retry-after": "7" }, "", 7_000],
  ["negative milliseconds", { "retry-after-ms": "-1", "retry-after": "7" }, "", 7_000],
  ["no time at all", { "retry-after": "0" }, "", 0],
  ["parts of a second", { "retry-after": "1.0001" }, "", 1_001],
  ["a date to come", { "retry-after": "Thu, 01 Jan 2026 12:00:05 GMT" }, "", 5_000],
  ["a date that is over", { "retry-after": "Thu, 01 Jan 2026 11:59:00 GMT" }, "", 0],
  ["a blank", { "retry-after": " " }, '{"retryDelay":"2s"}', 2_000],
  ["a blank and nothing else", { "retry-after-ms": "", "retry-after": "" }, "", undefined],
  ["words", { "retry-after": "soon" }, '{"retryDelay": "1.5s"}', 1_500],
  ["a week", { "retry-after": "604800" }, "", weekMs],
  ["more than a week", { "retry-after": "604801" }, "", weekMs],
  [
    "a day's quota, until midnight in California",
    {},
    '{"quotaId": "xPerDay","retryDelay": "3s"}',
    20 * 3_600_000,
  ],
])("%s", (_form, headers, body, waitMs) => {
  expect(retryAfterMs(headers, body, now)).toBe(waitMs);
});

test("only counts that are numbers from zero on are believed, wherever the API puts them", () => {
  const told = {
    input_tokens: "12",
    output_tokens: 0,
    cache_read_tokens: -1,
    totalTokenCount: 3.6,
    thoughts_token: Number.NaN,
    promptTokenCount: " ",
    details: { cached_tokens: "x", audio_tokens: 1 },
    service_tier: "default",
  };
  const plain = {
    input_tokens: 12,
    output_tokens: 0,
    totalTokenCount: 4,
    details: { audio_tokens: 1 },
    service_tier: "default",
  };
  for (const field of ["usage", "usageMetadata"]) {
    expect(withPlainCounts({ id: 1, [field]: told })).toEqual({ id: 1, [field]: plain });
    for (const carrier of ["message", "response"])
      expect(withPlainCounts({ [carrier]: { id: 2, [field]: told } })).toEqual({
        [carrier]: { id: 2, [field]: plain },
      });
  }
  expect(withPlainCounts({ usage: 7 })).toEqual({ usage: null });
  const without = { other: { input_tokens: -1 } };
  expect(withPlainCounts(without)).toBe(without);
});
