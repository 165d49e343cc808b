// A request's bytes without its pictures: the same as a search for every run of base64, wherever runs begin
// and end.
import fc from "fast-check";
import { expect, test } from "vitest";
import { chargedBytes } from "../src/sdk/charged-bytes.ts";

function searched(body: string): number {
  return Buffer.byteLength(body.replaceAll(/[A-Za-z0-9+/]{2000,}={0,2}/g, ""));
}

const piece = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.nat({ max: 9_000 }).map((length) => "aZ9+/".repeat(2_000).slice(0, length)),
  fc.constantFrom("=", "==", "===", '"', " ", "ü", "\n"),
);

test("long runs of base64 do not count, everything else does", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const body = pieces.join("");
      expect(chargedBytes(body)).toBe(searched(body));
    }),
  );
});

test("a run counts from its two-thousandth character", () => {
  expect(chargedBytes("a".repeat(1_999))).toBe(1_999);
  expect(chargedBytes(`"${"a".repeat(2_000)}=="`)).toBe(2);
});
