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

test("a whole text, sign by sign: where each word is, what belongs there and where it begins", async () => {
  const text = [
    "// a { comment\n",
    '{ gateway: { \'bind\': "l\\"an", port: -1.5e+3, $tls: true }, /* [ */\n',
    "  list: [ 'a', { id: \"x\", deep: [[1, 2], [] , ] }, 7 ],\n",
    '  \'broken\n, "a-b": [ ,, x ], } } last: 1',
  ].join("");
  const lines: string[] = [];
  let before = "";
  for (let offset = 0; offset <= text.length; offset += 1) {
    const place = placeAt(text, offset);
    const told =
      place === null
        ? "-"
        : `${place.expects} of ${JSON.stringify(place.path)}${place.isQuoted ? " quoted" : ""}${
            place.from === offset ? "" : `, begun: ${JSON.stringify(text.slice(place.from, offset))}`
          }`;
    const short = told.replace(/, begun: .*/, ", begun");
    if (short !== before)
      lines.push(`${JSON.stringify(text.slice(Math.max(0, offset - 12), offset))} ${told}\n`);
    before = short;
  }
  await expect(lines.join("")).toMatchFileSnapshot("tables/typed-places.txt");
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
