// Where a tag stands decides whether it was used or only mentioned: every kind of tag at every kind of place,
// as people see it.
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { replyParser } from "../../src/index.ts";

const tags = [
  "<think>",
  "<Think>",
  "<THINK>",
  "[think]",
  "[THINK]",
  "<tool_call>",
  "<Invoke>",
  '<invoke name="x">',
  '<Invoke name="x">',
  "<final>",
  "<Final>",
  "<|begin_of_solution|>",
  "<eos>",
  "<think/>",
  "</think>",
];
const befores = {
  start: "",
  line: "So.\n",
  sentence: "So. ",
  touching: "So.",
  letter: "So",
  quote: "(",
  comma: "so,",
  word: "so ",
};
const afters = {
  end: "",
  line: "\nX",
  mark: ",",
  Word: " Xyz",
  word: " xyz",
  text: "Xyz",
  dot: ". X",
  data: "{",
  less: "<b",
  spaced: " {",
};

function shown(text: string, finalOnly: boolean): string {
  const parser = replyParser({ finalOnly });
  parser.push(text);
  const outcome = parser.end();
  const part = outcome.kind === "reply" ? outcome.parts[0] : undefined;
  return part?.kind === "text" ? part.markdown : "";
}

/**
 * By letter, `t`: the tag is shown. `p`: it is shown unless it is closed later. `h`: what it holds is hidden.
 * `d`: it is taken out, and what follows is shown.
 */
function fate(tag: string, before: string, after: string, finalOnly = false): string {
  const rest = after === "" ? "" : `${after} MATTER`;
  const name = /[\w]+/u.exec(tag)?.[0] ?? "";
  const closing = tag.startsWith("[") ? `[/${name}]` : `</${name}>`;
  const open = shown(`${before}${tag}${rest}`, finalOnly);
  const closed = shown(`${before}${tag}${rest}${after === "" ? "" : closing}\n\nDone.`, finalOnly);
  const isShown = (text: string): boolean => text.includes(tag);
  if (isShown(open)) return isShown(closed) ? "t" : "p";
  if (after === "") return isShown(closed) ? "?" : "d";
  return open.includes("MATTER") ? "d" : "h";
}

function grid(finalOnly: boolean, rows: readonly string[]): string {
  const lines = rows.flatMap((tag) => [
    tag,
    ...Object.entries(befores).map(
      ([name, before]) =>
        `  ${name.padEnd(9)}${Object.values(afters)
          .map((after) => fate(tag, before, after, finalOnly))
          .join(" ")}`,
    ),
  ]);
  return ["columns: " + Object.keys(afters).join(" "), ...lines].join("\n");
}

test("a tag is used or mentioned by its place", () => {
  expect(grid(false, tags)).toMatchInlineSnapshot(`
    "columns: end line mark Word word text dot data less spaced
    <think>
      start    d h p h h h p h h h
      line     d h p h h h p h h h
      sentence d h t h p h t h h h
      touching d h t h p h t h h h
      letter   d h t h h h t h h h
      quote    t p t t t h t h h t
      comma    t p t t t h t h h t
      word     t p t t t h t h h t
    <Think>
      start    d h p h h h p h h h
      line     d h p h h h p h h h
      sentence d h t h p h t h h h
      touching d h t h p h t h h h
      letter   t t t t t p t p p t
      quote    t p t t t h t h h t
      comma    t p t t t h t h h t
      word     t p t t t h t h h t
    <THINK>
      start    d h p h h h p h h h
      line     d h p h h h p h h h
      sentence d h t h p h t h h h
      touching d h t h p h t h h h
      letter   d h t h h h t h h h
      quote    t p t t t h t h h t
      comma    t p t t t h t h h t
      word     t p t t t h t h h t
    [think]
      start    t p p p p p p p p p
      line     t p p p p p p p p p
      sentence ? p t p p p t p p p
      touching ? p t p p p t p p p
      letter   t p t p p p t p p p
      quote    t p t t t p t p p t
      comma    t p t t t p t p p t
      word     t p t t t p t p p t
    [THINK]
      start    d h p h h h p h h h
      line     d h p h h h p h h h
      sentence d h t h p h t h h h
      touching d h t h p h t h h h
      letter   t p t p p p t p p p
      quote    t p t t t h t h h t
      comma    t p t t t h t h h t
      word     t p t t t h t h h t
    <tool_call>
      start    d h t p p h t h h h
      line     d h t p p h t h h h
      sentence d h t p p h t h h h
      touching d h t p p h t h h h
      letter   d h t p p h t h h h
      quote    t p t t t p t h h h
      comma    t p t t t p t h h h
      word     t p t t t p t h h h
    <Invoke>
      start    d h t p p h t h h h
      line     d h t p p h t h h h
      sentence d h t p p h t h h h
      touching d h t p p h t h h h
      letter   t t t t t p t p p t
      quote    t p t t t p t h h h
      comma    t p t t t p t h h h
      word     t p t t t p t h h h
    <invoke name="x">
      start    d h t h h h t h h h
      line     d h t h h h t h h h
      sentence d h t h h h t h h h
      touching d h t h h h t h h h
      letter   d h t p p h t h h h
      quote    t p t p p h t h h h
      comma    t p t p p h t h h h
      word     t p t p p h t h h h
    <Invoke name="x">
      start    d h t h h h t h h h
      line     d h t h h h t h h h
      sentence d h t h h h t h h h
      touching d h t h h h t h h h
      letter   t t t t t p t p p t
      quote    t p t p p h t h h h
      comma    t p t p p h t h h h
      word     t p t p p h t h h h
    <final>
      start    d d p d p d p d d d
      line     d d p d p d p d d d
      sentence ? p t p p p t p p p
      touching ? p t p p p t p p p
      letter   t p t p p p t p p p
      quote    t t t t t t t t t t
      comma    t t t t t t t t t t
      word     t t t t t t t t t t
    <Final>
      start    d d p d p d p d d d
      line     d d p d p d p d d d
      sentence ? p t p p p t p p p
      touching ? p t p p p t p p p
      letter   t t t t t t t t t t
      quote    t t t t t t t t t t
      comma    t t t t t t t t t t
      word     t t t t t t t t t t
    <|begin_of_solution|>
      start    d d d d d d d d d d
      line     d d d d d d d d d d
      sentence d d d d d d d d d d
      touching d d d d d d d d d d
      letter   d d d d d d d d d d
      quote    t t t t t t t t t t
      comma    t t t t t t t t t t
      word     t t t t t t t t t t
    <eos>
      start    d d d d d d d d d d
      line     d d d d d d d d d d
      sentence d d t d d d t d d d
      touching d d t d d d t d d d
      letter   d d d d d d d d d d
      quote    d d t t t d t d d t
      comma    d d t t t d t d d t
      word     d d t t t d t d d t
    <think/>
      start    d d d d d d d d d d
      line     d d d d d d d d d d
      sentence d d t d d d t d d d
      touching d d t d d d t d d d
      letter   d d d d d d d d d d
      quote    d d t t t d t d d t
      comma    d d t t t d t d d t
      word     d d t t t d t d d t
    </think>
      start    d d t d d d t d d d
      line     d d t d d d t d d d
      sentence d d t d d d t d d d
      touching d d t d d d t d d d
      letter   d d d d d d d d d d
      quote    d d t t t d t d d t
      comma    d d t t t d t d d t
      word     d d t t t d t d d t"
  `);
});

test("where the answer is told to stand in <final>, that tag counts almost anywhere", () => {
  expect(grid(true, ["<final>", "<Final>", "<answer>"])).toMatchInlineSnapshot(`
    "columns: end line mark Word word text dot data less spaced
    <final>
      start    d d d d d d d d d d
      line     d d d d d d d d d d
      sentence d d h d d d h d d d
      touching d d h d d d h d d d
      letter   d d h d d d h d d d
      quote    d d h h h d h d d h
      comma    d d h h h d h d d h
      word     d d h h h d h d d h
    <Final>
      start    d d d d d d d d d d
      line     d d d d d d d d d d
      sentence d d h d d d h d d d
      touching d d h d d d h d d d
      letter   d d h d d d h d d d
      quote    d d h h h d h d d h
      comma    d d h h h d h d d h
      word     d d h h h d h d d h
    <answer>
      start    d d d d d d d d d d
      line     d d d d d d d d d d
      sentence d d h d d d h d d d
      touching d d h d d d h d d d
      letter   d d h d d d h d d d
      quote    d d h h h d h d d h
      comma    d d h h h d h d d h
      word     d d h h h d h d d h"
  `);
});

test.each([
  // Once tags were mentioned, a lone closing tag among words is one more mention.
  ["Use <think> here. Then </think> Done.", "Use <think> here. Then </think> Done."],
  ["So.</think> Done.", "So. Done."],
  ["Use <think> here. So.</think> Done.", "Use <think> here. So.</think> Done."],
  ["Use <think> here. So.</think>Done.", "Use <think> here. So.Done."],
  ["Use <think> here.\n</think> Done.", "Use <think> here.\n Done."],
  // Emphasis on both sides makes it no less a mention; on one side it is none.
  ["so **<think>** xyz", "so **<think>** xyz"],
  ["so *<think>* xyz", "so *<think>* xyz"],
  ["so ___<think>___ xyz", "so ___<think>___ xyz"],
  ["so **<think>* xyz", "so **"],
  ["1. **<think>** Xyz", "1. **<think>** Xyz"],
  ["999) **<think>** Xyz", "999) **<think>** Xyz"],
  ["1000) **<think>** Xyz", "1000) **"],
  ["So. **<think>** Xyz", "So. **"],
  // A pair that holds nothing was named.
  ["So. <think> ... </think> Xyz", "So. <think> ... </think> Xyz"],
  ["So. <think> </think> Xyz", "So.  Xyz"],
  ["<think> ... </think> xyz", "<think> ... </think> xyz"],
  ["<think> ... </think> Xyz", "Xyz"],
  ["<think> and </think> are tags", "<think> and </think> are tags"],
  ["<think> → </think> are tags", "<think> → </think> are tags"],
  ["<think>     and </think> are tags", "are tags"],
  // A mark after the tag ends a mention where it ends a sentence too.
  ["So. <think>! Xyz", "So. <think>! Xyz"],
  ["So. <think>.x Xyz", "So."],
  ["So. <think>?! Xyz", "So. <think>?! Xyz"],
  ["So. <think>.. Xyz", "So."],
  ["So. <think>-tag", "So. <think>-tag"],
  ["So. <think>- Xyz", "So."],
  ["So. <think>/<final>", "So. <think>/<final>"],
  ["So. <think>/x", "So."],
  ['So. <think>" xyz', 'So. <think>" xyz'],
  // A wrapper is closed in the form in which it was opened, in the midst of words too.
  ["So. [FINAL]Yes and [/FINAL] Done.", "So. Yes and  Done."],
  ["So. <final>Yes and </final> Done.", "So. Yes and  Done."],
  ["<|begin_of_solution|>Yes and <|end_of_solution|> Done.", "Yes and  Done."],
  ["<final>Yes and [/FINAL] Done.</final>", "Yes and [/FINAL] Done."],
  // Only the same form closes what was opened, and only its own name closes a tool's block.
  ["So. [think] a </think> b [/think] Xyz", "So.  Xyz"],
  ["So. <tool_call>{ a </invoke> b </tool_call> Xyz", "So.  Xyz"],
  ["<think>a <think>b</think> c</think> Xyz", "Xyz"],
  ["<tool_call>{ <tool_call>{ a </tool_call> b </tool_call> Xyz", "Xyz"],
])("%j is shown as %j", (text, seen) => {
  expect(shown(text, false)).toBe(seen.trim());
});

test("thoughts are kept in the order in which they came, without what was not thought", () => {
  const parser = replyParser();
  parser.push("<think>one</think>A<tool_call>{call}</tool_call>\n[THINK]two[/THINK]B\n<thinking>three");
  parser.end();
  expect(parser.thinking()).toBe("one\ntwo\nthree");
});

test("a tag right behind a comma or a hyphen is among words; behind any other mark a sentence has ended", () => {
  const marks = [",", "-", ";", ":", ".", "!", ")", "*", "~"];
  expect(marks.map((mark) => [mark, fate("<think>", `so${mark}`, " xyz")])).toEqual(
    marks.map((mark) => [mark, mark === "," || mark === "-" ? "t" : "p"]),
  );
});

// By each mark: right before a tag, before it and a space, right behind it, and behind it before a space.
test("each mark has its place before and behind a tag", async () => {
  const marks = `.!?…:;,-–—'"\`()[]{}<>/\\|=+*_~#$%&@^“”‘’«»„¿¡。！？：；，、（）」』」€😀→·3é`;
  const row = (mark: string): string =>
    [
      fate("<think>", `so${mark}`, " xyz"),
      fate("<think>", `so${mark} `, " xyz"),
      fate("<think>", `so${mark} `, "\nXyz"),
      fate("<think>", "So. ", `${mark}xyz`),
      fate("<think>", "So. ", `${mark} xyz`),
      fate("<think>", "So. ", `${mark}"`),
      fate("<think>", "So. ", `${mark}.`),
      fate("<think>", "So. ", `${mark}< xyz`),
    ].join(" ");
  await expect(answerTable([...new Set(marks)], row)).toMatchFileSnapshot("../tables/places.txt");
});

test("a list's number, emphasis and what names a pair are told to the character", () => {
  const of = (text: string): string => shown(text, false);
  expect([
    of("so ****<think>**** xyz"),
    of("so **<think>*** xyz"),
    of("so __<think>__ xyz"),
    of("so *<think>_ xyz"),
  ]).toEqual(["so ****", "so **", "so __<think>__ xyz", "so *"]);
  for (const link of "and or to und oder et ou y o e и или & + / , – - → ->".split(" ")) {
    expect([link, of(`<think> ${link} </think> are tags`)]).toEqual([
      link,
      `<think> ${link} </think> are tags`,
    ]);
    if (/\p{L}/u.test(link)) expect(of(`<think>${link}</think> are tags`)).toBe("are tags");
  }
  for (const [spaces, text] of [
    [4, `<think>    and    </think> are tags`],
    [5, "are tags"],
  ] as const)
    expect(of(`<think>${" ".repeat(spaces)}and${" ".repeat(spaces)}</think> are tags`)).toBe(text);
  // Dots alone, and no more of them than twenty.
  for (const [dots, text] of [
    [20, `<think>${".".repeat(20)}</think> are tags`],
    [21, "are tags"],
  ] as const)
    expect(of(`<think>${".".repeat(dots)}</think> are tags`)).toBe(text);
});
