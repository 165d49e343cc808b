import fc from "fast-check";
import { expect, test } from "vitest";
import { addressOf, readAddress } from "../src/parts/address.ts";

test("whatever an object is called, its address reads back", () => {
  const part = fc.string({ unit: "binary", minLength: 1 }).filter((text) => text.isWellFormed());
  fc.assert(
    fc.property(part, fc.array(part, { maxLength: 3 }), part, (page, rest, value) => {
      const read = readAddress(addressOf(page, rest, { all: value, none: null }));
      expect([read.page, read.rest, read.query.get("all"), read.query.has("none")]).toEqual([
        page,
        rest,
        value,
        false,
      ]);
    }),
  );
});

test("what somebody typed is no error", () => {
  expect(readAddress("#/sessions/%E0%A4%A")).toMatchObject({ page: "sessions", rest: ["%E0%A4%A"] });
  expect(readAddress("")).toMatchObject({ page: "", rest: [] });
});
