// Front matter that is no YAML as a whole: where one entry ends, and how name and description read as they
// stand.
import { expect, test } from "vitest";
import { parse } from "yaml";
import { salvaged } from "../../src/skills/salvage.ts";

const salvage = (...lines: readonly string[]) =>
  salvaged(lines.join("\n"), (text) => {
    try {
      return parse(text) as { readonly [key: string]: unknown };
    } catch {
      return null;
    }
  });
const described = (...lines: readonly string[]): unknown => salvage(...lines)?.data["description"];

test("a description that is no YAML is its text on one line, without the quotes around the whole of it", () => {
  expect(described("description: first: this:", "\t then   this: end", "name: a")).toBe(
    "first: this: then this: end",
  );
  expect(described(String.raw`description: "matches \d: so"`)).toBe(String.raw`matches \d: so`);
  expect(described("description: 'it's so: really'")).toBe("it's so: really");
  expect(described("description: \"it's so: really'")).toBe("\"it's so: really'");
  expect(described(String.raw`description: say "\d" then: end`)).toBe(String.raw`say "\d" then: end`);
  expect(described(String.raw`description: "\d" then: end`)).toBe(String.raw`"\d" then: end`);
  expect(described(String.raw`description:  then: "\d" `)).toBe(String.raw`then: "\d"`);
  expect(described(String.raw`description: ""\d: x""`)).toBe(String.raw`"\d: x"`);
});

test("a key may stand in quotes, and before spaces; a line without a colon of its own goes on", () => {
  expect(
    salvage(
      "plain-key.2: 1",
      '"with blanks": 2',
      "'it (too)' : 3",
      "_x\t:",
      "  a: b",
      "name:a",
      "list:",
      "- y: z",
    ),
  ).toEqual({
    data: { "plain-key.2": 1, "with blanks": 2, "it (too)": 3, list: [{ y: "z" }] },
    notes: ["_x is left out: it is no YAML"],
  });
  expect(salvage("a: 1", ' b: "', "c: 2")?.data).toEqual({ c: 2 });
  expect(salvage(`'a"b': 1`, `"c'd": 2`)?.data).toEqual({ 'a"b': 1, "c'd": 2 });
});

test("blank lines and comments may come first; any other line without a key refuses the whole", () => {
  expect(salvage("", "  ", "# said", "name: a")).toEqual({ data: { name: "a" }, notes: [] });
  for (const line of ["- x", "words", "x # y", " name: b", "7: x", "[a]: x", '"a"b": x'])
    expect([line, salvage(line, "name: a")]).toEqual([line, null]);
});

test("name and description may each stand once, even where the first is empty; others count as last told", () => {
  expect(salvage("name: a", "name: b")).toBeNull();
  expect(salvage("description:", "name: a", "description: b")).toBeNull();
  expect(salvage("x: 1", "x: 2", "x: %s")).toEqual({
    data: { x: 2 },
    notes: ["x stands twice: the last one counts", "x is left out: it is no YAML"],
  });
});
