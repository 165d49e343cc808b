// Which lines of the notes are put together at night, and what an accepted change writes: the limits of each,
// several in one file, line ends, and what changed meanwhile.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { alikeLines } from "../src/changes/alike.ts";
import { tidied } from "../src/changes/tidy.ts";

let workspace: string;
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), "parley-tidy-"));
  return () => rmSync(workspace, { recursive: true });
});
const write = (path: string, ...lines: string[]): void => {
  mkdirSync(dirname(join(workspace, path)), { recursive: true });
  writeFileSync(join(workspace, path), lines.join("\n"));
};
const groups = (most = 10): readonly (readonly string[])[] =>
  alikeLines(workspace, most).map(({ lines }) => lines.map(({ path, line }) => `${path}:${line}`));

test("lines that share their rare words stand together, in the order of the notes, over files", () => {
  write(
    "MEMORY.md",
    "# Heading kettle copper kitchen",
    "- The copper kettle stands in the kitchen",
    "- Tuesday is swimming day",
  );
  write("USER.md", "The kitchen has a copper kettle", "Nothing of the kind", "");
  expect(groups()).toEqual([["MEMORY.md:2", "USER.md:1"]]);
  // Notes for other people are never put beside them.
  write("USER.md");
  write("memory/2026-01-02.md", "The kitchen has a copper kettle");
  expect(groups()).toEqual([]);
});

test("code, tables, comments, headings, settled lines and what is too long or too short are left alone", () => {
  const line = "copper kettle kitchen window";
  write(
    "MEMORY.md",
    line,
    "```",
    line,
    "```",
    `# ${line}`,
    `| ${line} |`,
    `<!-- ${line} -->`,
    `${line} [superseded 2026-01-01: x]`,
    `${line} ${"word ".repeat(200)}`,
    "copper kettle",
    "~~~",
    line,
    "~~~",
    `${line}\r`,
  );
  expect(groups()).toEqual([["MEMORY.md:1", "MEMORY.md:14"]]);
});

test("a file that is not UTF-8 stands beside none, because it could not be written back", () => {
  write("MEMORY.md", "copper kettle kitchen");
  write("USER.md", "copper kettle kitchen");
  mkdirSync(join(workspace, "memory"));
  writeFileSync(join(workspace, "memory/a.md"), Buffer.from("copper k\u00e4ttle kettle kitchen", "latin1"));
  writeFileSync(join(workspace, "memory/b.md"), "copper kettle kitchen");
  writeFileSync(join(workspace, "memory/c.md"), "copper kettle kitchen\u0000");
  expect(groups()).toEqual([["MEMORY.md:1", "USER.md:1"]]);
});

test("the most alike come first, as many groups as asked, and no group grows beyond six", () => {
  write(
    "MEMORY.md",
    "red bicycle garage winter",
    "red bicycle garage summer",
    ...Array.from({ length: 8 }, () => "copper kettle kitchen window"),
  );
  const [first, second] = groups();
  expect(first).toEqual([3, 4, 5, 6, 7, 8].map((line) => `MEMORY.md:${line}`));
  expect(
    groups()
      .flat()
      .filter((each) => each.endsWith(":1") || each.endsWith(":2")),
  ).toEqual(["MEMORY.md:1", "MEMORY.md:2"]);
  expect(second).toBeDefined();
  expect(groups(1)).toEqual([first]);
  expect(groups(0)).toEqual([]);
});

test("a word in more than sixty lines brings none together", () => {
  const lines = (count: number) =>
    Array.from({ length: count }, (_, n) => `copper kettle kitchen number${n}`);
  write("MEMORY.md", ...lines(61));
  expect(groups()).toEqual([]);
  // One word of their own is too little where the others stand everywhere.
  const twins = (own: string) => Array.from({ length: 2 }, () => `copper kettle kitchen ${own}`);
  write("MEMORY.md", ...lines(61), ...twins("twin"));
  expect(groups()).toEqual([]);
  write("MEMORY.md", ...lines(61), ...twins("twin pair"));
  expect(groups()).toEqual([["MEMORY.md:62", "MEMORY.md:63"]]);
  write("MEMORY.md", ...lines(60));
  expect(groups(1)).toHaveLength(1);
});

const at = (line: number, text: string, path = "MEMORY.md") => ({ path, line, text });
const change = (text: string | null, ...lines: readonly ReturnType<typeof at>[]) =>
  ({ lines, text }) as never;
const after = (...changes: readonly never[]) => {
  const { edits, refused, added } = tidied(workspace, changes, "2026-02-03");
  return {
    files: Object.fromEntries(edits.map(({ path, after: now }) => [path, now.split("\n")])),
    refused,
    added,
  };
};

test("lines that say the same become one in the place of the first, with its mark; the others go", () => {
  write("MEMORY.md", "a", "  - [ ] one thing", "b", "* the one thing\r", "c");
  write("USER.md", "thing one", "kept");
  expect(
    after(
      change(
        " - both\n things ",
        at(2, "  - [ ] one thing"),
        at(4, "* the one thing"),
        at(1, "thing one", "USER.md"),
      ),
    ),
  ).toEqual({
    files: { "MEMORY.md": ["a", "  - [ ] both things", "b", "c"], "USER.md": ["kept"] },
    refused: [null],
    added: [{ path: "MEMORY.md", text: "  - [ ] both things", change: 0 }],
  });
});

test("of lines that contradict one another the first holds, and each other one says by what it is superseded", () => {
  const held = `- ${"h".repeat(161)}`;
  write("MEMORY.md", held, "two  \r", "three");
  const { files, added } = after(change(null, at(1, held), at(2, "two  "), at(3, "three")));
  const mark = `[superseded 2026-02-03: ${"h".repeat(160)}…]`;
  expect(files["MEMORY.md"]).toEqual([held, `two ${mark}\r`, `three ${mark}`]);
  expect(added.map(({ text }) => text)).toEqual([`two ${mark}`, `three ${mark}`]);
  write("MEMORY.md", `1) ${"h".repeat(160)}`, "two");
  expect(after(change(null, at(1, `1) ${"h".repeat(160)}`), at(2, "two"))).files["MEMORY.md"]?.[1]).toBe(
    `two [superseded 2026-02-03: ${"h".repeat(160)}]`,
  );
});

test("a line that moved is found where it is nearest; one that was changed, or is another's, refuses the change", () => {
  write("MEMORY.md", "same", "x", "x", "x", "same", "x", "other");
  write("memory/people/telegram-1/x.md", "same");
  expect(after(change("new", at(4, "same"), at(7, "other"))).files["MEMORY.md"]).toEqual([
    "same",
    "x",
    "x",
    "x",
    "new",
    "x",
  ]);
  expect(after(change("new", at(2, "same"), at(7, "other"))).files["MEMORY.md"]?.[0]).toBe("new");
  // Two that read the same are two lines.
  expect(after(change("new", at(1, "same"), at(1, "same"))).files["MEMORY.md"]).toEqual([
    "new",
    "x",
    "x",
    "x",
    "x",
    "other",
  ]);
  expect(
    after(change("new", at(1, "gone"), at(7, "other")), change("mine", at(7, "other"), at(1, "same"))),
  ).toMatchObject({
    refused: ["MEMORY.md was changed since", null],
    added: [{ text: "mine", change: 1 }],
  });
  expect(after(change("new", at(1, "same"), at(1, "same", "notes/elsewhere.md"))).refused).toEqual([
    "its lines are not for the same people",
  ]);
  expect(after(change("same", at(1, "same")))).toEqual({ files: {}, refused: [null], added: [] });
});

const stock =
  "anchor basket candle dragon engine feather garlic hammer island jacket kettle ladder magnet needle orchid pepper quartz ribbon saddle turnip velvet walnut yogurt zipper".split(
    " ",
  );

test.each([
  ["two of five words each", 5, 5, 2, false],
  ["three of five words each", 5, 5, 3, true],
  ["four tenths of all their words", 7, 7, 4, true],
  ["a third of all, and half of the shorter line", 8, 8, 4, false],
  ["five of nine words each", 9, 9, 5, false],
  ["three fifths of the shorter line", 12, 5, 3, true],
  ["two fifths of the shorter line", 12, 5, 2, false],
  ["less than three fifths of the shorter line", 12, 7, 4, false],
  ["two of three words each", 3, 3, 2, true],
  ["both words of a line of two", 3, 2, 2, false],
])("lines that share %s", (_share, longer, shorter, common, isAlike) => {
  const words = (from: number, count: number): string => stock.slice(from, from + count).join(" ");
  write("MEMORY.md", words(0, longer), words(longer - common, shorter));
  expect(groups()).toEqual(isAlike ? [["MEMORY.md:1", "MEMORY.md:2"]] : []);
});
