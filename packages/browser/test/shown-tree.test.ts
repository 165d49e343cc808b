import { expect, it } from "vitest";
import { shownTree } from "../src/shown-tree.ts";

/** A list of links in a page: each link is named three levels deep. */
const tree = (rows: number): string =>
  [
    "- main [ref=e1]:",
    "  - list [ref=e2]:",
    ...Array.from({ length: rows }, (_each, at) => [
      `    - listitem [ref=e${at}a]:`,
      `      - link "row ${at}" [ref=e${at}b] [cursor=pointer]:`,
      `        - /url: /r${at}`,
    ]).flat(),
  ].join("\n");

it("shows a page whole where it fits, and an empty one in words", () => {
  expect(shownTree(tree(1), 1_000)).toBe(
    '- main [ref=e1]:\n  - list [ref=e2]:\n    - listitem [ref=e0a]:\n      - link "row 0" [ref=e0b]:\n        - /url: /r0',
  );
  expect(shownTree("", 10)).toBe("(The page is empty.)");
});

it("shows a large one as deep as fits, within the room that there is", () => {
  const rows = 40;
  for (const room of [1_000, 1_500, 2_500]) {
    const text = shownTree(tree(rows), room);
    const [, levels = ""] =
      /\[only (\d) levels deep; take a snapshot with a ref to see below it\]$/.exec(text) ?? [];
    expect(text.length).toBeLessThanOrEqual(room + 70);
    expect(text.match(/listitem/g)).toHaveLength(rows);
    expect([room, Number(levels), text.includes("link"), text.includes("/url")]).toEqual([
      room,
      room < 1_200 ? 3 : room < 2_500 ? 3 : 4,
      room === 2_500,
      false,
    ]);
  }
});

it("cuts one at a line where even three levels are too much", () => {
  const text = shownTree(tree(1_000), 500);
  expect(text.length).toBeLessThan(560);
  expect(text).toMatch(/\]:\n\[cut; take a snapshot with a ref to see more of it\]$/);
});
