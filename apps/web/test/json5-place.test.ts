import fc from "fast-check";
import { expect, test } from "vitest";
import { placeAt } from "../src/parts/json5-place.ts";

/** `|` is where somebody types. */
const at = (text: string): ReturnType<typeof placeAt> => placeAt(text.replace("|", ""), text.indexOf("|"));

test.each([
  ["{ | }", [], "key"],
  ["{ gate| }", [], "key"],
  ["{ 'gate|' }", [], "key"],
  ["{ gateway: { port: 1, | } }", ["gateway"], "key"],
  ["{ gateway: { bind: | } }", ["gateway", "bind"], "value"],
  ['{ gateway: { bind: "l|', ["gateway", "bind"], "value"],
  ['{ agents: { list: [{ id: "a" }, { th|', ["agents", "list", 1], "key"],
  ["{ a: [1, |] }", ["a", 1], "value"],
  ['{ a: "}{", /* { */ // {\n b|', [], "key"],
] as const)("%s", (text, path, expects) => {
  expect(at(text)).toMatchObject({ path, expects });
});

test.each(["|", "{ a | }", "{ a: 1 | }", "{ // no|\n}", "{ /* no| */ }", "{} |"])("nothing at %s", (text) => {
  expect(at(text)).toBe(null);
});

test("whatever stands there, it answers", () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom("{", "}", "[", "]", ":", ",", "'", '"', "\\", "/", "*", "\n", " ", "a", "1"),
      }),
      fc.nat(40),
      (text, offset) => {
        const place = placeAt(text, Math.min(offset, text.length));
        expect(place === null || place.from <= text.length).toBe(true);
      },
    ),
  );
});
