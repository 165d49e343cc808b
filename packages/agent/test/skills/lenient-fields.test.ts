// What a field of a SKILL.md may look like, where its bounds are, and what is said of what was left out.
import { expect, test } from "vitest";
import { lenientFields, type LenientFields } from "../../src/skills/lenient-fields.ts";

function read<T>(value: unknown, how: (fields: LenientFields) => T): { readonly value: T; said: string[] } {
  const said: string[] = [];
  return { value: how(lenientFields({ x: value }, "metadata.parley.", said)), said };
}
const nothing = { value: undefined, said: [] };
const leftOut = (why: string): string[] => [`metadata.parley.x is left out: ${why}`];

test("a text may be a number or a boolean; what holds others is none, and what is null is not there", () => {
  const text = (value: unknown) => read(value, (fields) => fields.text("x"));
  expect(text("a")).toEqual({ value: "a", said: [] });
  expect(text("")).toEqual({ value: "", said: [] });
  expect(text(0)).toEqual({ value: "0", said: [] });
  expect(text(false)).toEqual({ value: "false", said: [] });
  expect(text(null)).toEqual(nothing);
  expect(text(["a"])).toEqual({ value: undefined, said: leftOut("it is no text") });
  expect(read(1, (fields) => fields.text("toString"))).toEqual(nothing);
});

test.each([
  [true, true],
  [false, false],
  ["true", true],
  ["yes", true],
  ["on", true],
  ["false", false],
  ["no", false],
  ["off", false],
  [" On ", true],
  ["NO", false],
])("the flag %j is %j", (value, is) => {
  expect(read(value, (fields) => fields.flag("x"))).toEqual({ value: is, said: [] });
});

test("another flag is left out", () => {
  for (const value of [1, "1", "maybe", []])
    expect(read(value, (fields) => fields.flag("x"))).toEqual({
      value: undefined,
      said: leftOut("it is neither true nor false"),
    });
});

test("a list is one of texts, or a text with commas: fifty names of 128 characters, each once", () => {
  const list = (value: unknown) => read(value, (fields) => fields.list("x"));
  expect(list(undefined)).toEqual({ value: [], said: [] });
  expect(list(" a, b ,,a,")).toEqual({ value: ["a", "b"], said: [] });
  expect(list([" a ", 7, true, "", "a"])).toEqual({ value: ["a", "7", "true"], said: [] });
  expect(list(7)).toEqual({ value: ["7"], said: [] });
  expect(list(["a,b"])).toEqual({ value: ["a,b"], said: [] });
  const names = Array.from({ length: 51 }, (_, at) => `n${at}`);
  expect(list(names.slice(0, 50))).toEqual({ value: names.slice(0, 50), said: [] });
  expect(list(names)).toEqual({ value: names.slice(0, 50), said: leftOut("all of it but 50 names") });
  const longest = "l".repeat(128);
  expect(list([longest])).toEqual({ value: [longest], said: [] });
  expect(list(["a", `${longest}l`])).toEqual({ value: ["a"], said: leftOut("all of it but 1 names") });
  expect(list(["a", { b: 1 }])).toEqual({ value: ["a"], said: leftOut("all of it but 1 names") });
  expect(list({ b: 1 })).toEqual({ value: [], said: leftOut("it is no list of names") });
});

test("a block is keys and values, or JSON as a text; a blank text is none", () => {
  const block = (value: unknown) => read(value, (fields) => fields.block("x"));
  expect(block({ a: 1 })).toEqual({ value: { a: 1 }, said: [] });
  expect(block('{"a": 1}')).toEqual({ value: { a: 1 }, said: [] });
  expect(block(" \n")).toEqual(nothing);
  for (const value of ["a", "[1]", 7, true, [{ a: 1 }]])
    expect(block(value)).toEqual({
      value: undefined,
      said: leftOut("it is neither keys and values nor JSON"),
    });
});
