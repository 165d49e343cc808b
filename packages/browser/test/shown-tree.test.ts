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
  for (const [room, levels] of [
    [1_500, 3],
    [3_200, 4],
  ] as const) {
    const text = shownTree(tree(rows), room);
    expect(text.endsWith(`\n[only ${levels} levels deep; take a snapshot with a ref to see below it]`)).toBe(
      true,
    );
    expect(text.length).toBeLessThanOrEqual(room + 70);
    expect(text.match(/listitem/g)).toHaveLength(rows);
    expect(text.match(/link/g)?.length ?? 0).toBe(levels === 4 ? rows : 0);
    expect(text).not.toContain("/url");
  }
});

it("cuts one at a line where even three levels are too much", () => {
  const text = shownTree(tree(1_000), 500);
  expect(text.length).toBeLessThan(560);
  expect(text).toMatch(/\]:\n\[cut; take a snapshot with a ref to see more of it\]$/);
});
