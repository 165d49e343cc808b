// Which values have the form that a platform promises, what is kept of those that have it in part, and how
// the rest is named.
import { expect, test } from "vitest";
import { amount, count, finite, flag, integer, list, object, snowflakeId, text } from "../src/salvage.ts";

const values: readonly unknown[] = [
  "",
  "12",
  "1".repeat(20),
  "1".repeat(21),
  "-1",
  0,
  -1,
  1.5,
  Number.MAX_SAFE_INTEGER,
  Number.MAX_SAFE_INTEGER + 1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  true,
  false,
  null,
  undefined,
  {},
  [],
];

test("each part takes the values of its form and names every other", () => {
  const parts = { text, flag, integer, finite, amount, count, snowflakeId };
  const taken = Object.entries(parts).map(([name, part]) => {
    const left: string[] = [];
    const read = values.map((value) => [value, part(value, "at", left)] as const);
    const kept = read.filter(([value, found]) => found !== undefined && Object.is(value, found));
    expect([name, left.length]).toEqual([name, values.length - kept.length]);
    expect(new Set(left)).toEqual(new Set(["at"]));
    return [name, kept.map(([value]) => value)];
  });
  const ids = ["12", "1".repeat(20)];
  expect(Object.fromEntries(taken)).toEqual({
    text: ["", "12", "1".repeat(20), "1".repeat(21), "-1"],
    flag: [true, false],
    integer: [0, -1, Number.MAX_SAFE_INTEGER],
    finite: [0, -1, 1.5, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER + 1],
    amount: [0, 1.5, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER + 1],
    count: [0, Number.MAX_SAFE_INTEGER],
    snowflakeId: ids,
  });
});

test("of a list each element stands for itself; of an object what it needs must all be there, and nothing unknown is kept", () => {
  const part = object(
    { id: integer, at: object({ x: finite, y: finite }) },
    { name: text, tags: list(text), deep: object({ a: flag }, { b: flag }) },
  );
  const read = (value: unknown): unknown => {
    const left: string[] = [];
    return [part(value, "it", left), left];
  };
  const whole = { id: 1, at: { x: 1, y: 2 } };
  expect(read({ ...whole, name: "n", tags: ["a"], deep: { a: true, b: false }, more: 1 })).toEqual([
    { ...whole, name: "n", tags: ["a"], deep: { a: true, b: false } },
    [],
  ]);
  expect(read({ ...whole, name: null, tags: null, deep: undefined })).toEqual([whole, []]);
  expect(read({ ...whole, name: 7, tags: ["a", 7, null, "b", undefined], deep: { a: 1 } })).toEqual([
    { ...whole, tags: ["a", "b"] },
    ["it.name", "it.tags[1]", "it.tags[2]", "it.tags[4]", "it.deep.a"],
  ]);
  expect(read({ ...whole, tags: "a", deep: { a: false, b: 7 } })).toEqual([
    { ...whole, deep: { a: false } },
    ["it.tags", "it.deep.b"],
  ]);
  expect(read({ ...whole, id: null })).toEqual([undefined, ["it.id"]]);
  expect(read({ at: { x: 1 } })).toEqual([undefined, ["it.id"]]);
  expect(read({ id: 1, at: { x: 1 } })).toEqual([undefined, ["it.at.y"]]);
  for (const none of [null, undefined, 7, "x", [], [whole]]) expect(read(none)).toEqual([undefined, ["it"]]);
});
