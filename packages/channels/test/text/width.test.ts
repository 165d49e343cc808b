// Columns in a fixed-width font.
import { expect, it } from "vitest";
import { textColumns } from "../../src/text/width.ts";

it.each([
  ["abc", 3],
  ["日本語", 6],
  ["ｗ", 2],
  ["한글", 4],
  ["e\u0301", 1],
  ["\u200b", 0],
  ["👍🏽", 2],
  ["👨‍👩‍👧‍👦", 2],
  ["🇩🇪", 2],
  ["❤️", 2],
  ["❤", 1],
  ["שלום", 4],
  ["─", 1],
])("%s takes %i columns", (text, columns) => {
  expect(textColumns(text)).toBe(columns);
});
