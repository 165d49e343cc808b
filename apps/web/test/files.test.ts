import fc from "fast-check";
import { expect, test } from "vitest";
import { base64 } from "../src/view/chat/files.ts";

test("bytes of any length become the base64 that others read", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1_000 }), (bytes) => {
      expect(base64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
    }),
  );
  const large = new Uint8Array(100_003).fill(7);
  expect(base64(large)).toBe(Buffer.from(large).toString("base64"));
});
