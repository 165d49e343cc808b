// What the difference of two texts says: both can be read off it again, and what stays the same is not told
// as other.
import fc from "fast-check";
import { expect, test } from "vitest";
import { diffLines, type DiffLine } from "../src/parts/diff.ts";

const without = (lines: readonly DiffLine[], kind: DiffLine["kind"]): string =>
  lines
    .filter((line) => line.kind !== kind)
    .map(({ text }) => text)
    .join("\n");

test("both texts can be read off their difference", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "c", ""), { minLength: 1 })
    .map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after);
      expect(without(lines, "added")).toBe(before);
      expect(without(lines, "removed")).toBe(after);
    }),
  );
});

test("a line that stays is not told as gone and come", () => {
  expect(diffLines("one\ntwo\nthree\nfour", "one\nnew\nthree\nfour").map(({ kind }) => kind)).toEqual([
    "same",
    "removed",
    "added",
    "same",
    "same",
  ]);
  expect(diffLines("a\nb\nc\nd", "b\nc\ne").map(({ kind }) => kind)).toEqual([
    "removed",
    "same",
    "same",
    "removed",
    "added",
  ]);
});

test("of a thousand lines each, those that stay are found", () => {
  const text = (other: string): string =>
    Array.from({ length: 1_000 }, (_, at) => (at % 2 === 0 ? `${other}${at}` : `same ${at}`)).join("\n");
  const lines = diffLines(text("x"), text("y"));
  expect(lines.filter(({ kind }) => kind === "same").map(({ text: each }) => each)).toEqual(
    Array.from({ length: 500 }, (_, at) => `same ${2 * at + 1}`),
  );
  // What goes stands before what comes in its place.
  expect(lines.slice(0, 4)).toEqual([
    { kind: "removed", text: "x0" },
    { kind: "added", text: "y0" },
    { kind: "same", text: "same 1" },
    { kind: "removed", text: "x2" },
  ]);
});

test("texts that are too long to compare are still told whole", () => {
  const [before, after] = ["x", "y"].map((sign) =>
    Array.from({ length: 2_100 }, (_, index) => `${sign}${index}`).join("\n"),
  ) as [string, string];
  const lines = diffLines(before, after);
  expect(without(lines, "added")).toBe(before);
  expect(without(lines, "removed")).toBe(after);
});
