// Where long replies are cut, and what is closed and opened again at a cut.
import { describe, expect, it } from "vitest";
import { longestMarkdownChars, renderFinal, renderHtml, renderMarkdown } from "../../src/text/index.ts";
import type { Dialect } from "@parley/protocol";

function texts(markdown: string, dialect: Dialect, textChars: number, textEntities = 100): string[] {
  return renderMarkdown(markdown, { dialect, textChars, textEntities }).map(({ text }) => text);
}

describe("splitting", () => {
  it("sends nothing when there is nothing to see", () => {
    for (const markdown of ["", " \n\n", "\u200b", "&nbsp;", "```\n```", "[a]: https://x.org", "#"]) {
      expect(texts(markdown, "telegram", 4096)).toEqual([]);
    }
  });

  it("keeps a table whole when a row of it is empty", () => {
    expect(renderHtml("||\n---")).toBe("<table><thead><tr><th></th></tr></thead></table>");
  });

  it("prefers the end of a paragraph, then of a line, a sentence, a word", () => {
    expect(texts("First one.\n\nSecond one. More of it.", "plain", 30)).toEqual([
      "First one.",
      "Second one. More of it.",
    ]);
    expect(texts("First line of it\nsecond line", "plain", 22)).toEqual(["First line of it", "second line"]);
    expect(texts("One sentence here. Another one", "plain", 24)).toEqual([
      "One sentence here.",
      "Another one",
    ]);
    expect(texts("没有空格的句子。另一个句子", "plain", 10)).toEqual(["没有空格的句子。", "另一个句子"]);
    expect(texts("some words without an end", "plain", 12)).toEqual(["some words", "without an", "end"]);
    expect(texts("abcdefghij", "plain", 4)).toEqual(["abcd", "efgh", "ij"]);
  });

  it("keeps a short last word whole, though its message is then short", () => {
    expect(texts("a bbbbbbbbbbbb c", "plain", 13)).toEqual(["a", "bbbbbbbbbbbb", "c"]);
  });

  it("keeps a heading with what it heads, and a bullet with its item", () => {
    expect(texts("Some text.\n\n## Head\n\nBody text.", "plain", 26)).toEqual([
      "Some text.",
      "Head\n\nBody text.",
    ]);
    expect(texts("- aaaa\n- bbbbbbbbb", "discord", 9)).toEqual(["- aaaa", "- bbbbbbb", "bb"]);
  });

  it("closes a fence and opens it again with its language", () => {
    expect(texts("```js\nlet a = 1;\n\nlet b = 2;\n```", "discord", 24)).toEqual([
      "```js\nlet a = 1;\n```",
      "```js\nlet b = 2;\n```",
    ]);
    const messages = renderMarkdown("```js\nlet a = 1;\n  let b = 2;\n```", {
      dialect: "telegram",
      textChars: 14,
    });
    expect(messages.map(({ text, entities }) => [text, entities])).toEqual([
      ["let a = 1;", [{ type: "pre", offset: 0, length: 10, language: "js" }]],
      ["  let b = 2;", [{ type: "pre", offset: 0, length: 12, language: "js" }]],
    ]);
  });

  it("does not take a blank line in code for the end of a paragraph", () => {
    expect(texts("Here:\n```\naaaa\n\nbbbb\ncccc\n```", "plain", 18)).toEqual([
      "Here:\naaaa\n\nbbbb",
      "cccc",
    ]);
  });

  it("closes styles, links and quotes and opens them again", () => {
    expect(texts("> **some bold words**", "discord", 16)).toEqual(["> **some bold**", "> **words**"]);
    expect(texts("[some words](https://x.y)", "discord", 24)).toEqual([
      "[some](<https://x.y>)",
      "[words](<https://x.y>)",
    ]);
    expect(texts("1. one\n2. two", "html", 40)).toEqual(["<ol><li>one</li><li>two</li></ol>"]);
    expect(texts("1. one\n2. two", "html", 32)).toEqual([
      "<ol><li>one</li></ol>",
      '<ol start="2"><li>two</li></ol>',
    ]);
  });

  it("counts what is sent: escapes and marks on Discord, UTF-16 units everywhere", () => {
    expect(texts("**".padEnd(5, "x"), "discord", 7)).toEqual(["\\*\\*xxx"]);
    expect(texts("**".padEnd(6, "x"), "discord", 7)).toEqual(["\\*\\*xxx", "x"]);
    expect(texts("😀😀😀", "telegram", 5)).toEqual(["😀😀", "😀"]);
  });

  it("holds the number of entities of a message down", () => {
    const messages = renderMarkdown("**a** b ".repeat(250), {
      dialect: "telegram",
      textChars: 4096,
      textEntities: 100,
    });
    expect(messages.length).toBeGreaterThanOrEqual(3);
    expect(Math.max(...messages.map(({ entities }) => entities.length))).toBeLessThanOrEqual(100);
    expect(messages.flatMap(({ entities }) => entities)).toHaveLength(250);
  });

  it("never cuts a character that fits, and one that does not only between code points", () => {
    const family = "👨‍👩‍👧‍👦";
    expect(texts(`ab${family}`, "plain", 12)).toEqual(["ab", family]);
    expect(texts("🇩🇪🇫🇷", "plain", 6)).toEqual(["🇩🇪", "🇫🇷"]);
    expect(texts(family, "plain", 5)).toEqual(["👨‍👩", "👧‍👦"]);
    expect(texts("😀", "plain", 1)).toEqual(["😀"]);
  });

  it("shows a finished text of markup alone as it is written, and one that shows nothing not at all", () => {
    for (const [written, shown] of [
      ["```", "```"],
      ["#", "#"],
      ["[a]: https://x.org", "[a]: https://x.org"],
      ["\u200b", undefined],
      ["**a**", "a"],
    ] as const)
      expect(renderFinal(written, { dialect: "telegram", textChars: 4096 })[0]?.text).toBe(shown);
  });

  it("gives up markup before characters where there is no room for both", () => {
    expect(texts("**👨‍👩‍👧**", "discord", 8)).toEqual(["👨‍👩‍👧"]);
    expect(texts("\\*", "discord", 1)).toEqual(["*"]);
  });

  it("refuses a limit that is none", () => {
    expect(() => texts("a", "plain", 0)).toThrow(
      "textChars is 0: give the surface's limit, an integer of at least 1",
    );
    expect(() => texts("a", "telegram", 10, Number.NaN)).toThrow("textEntities is NaN");
  });

  it("spells out an address too long for one Discord message, and loses none of it", () => {
    const url = `https://x.org/${"abc/".repeat(700)}`;
    const messages = texts(`[here](${url})`, "discord", 2000);
    expect(messages.join("").replace("here", "here ")).toBe(`here (${url})`);
  });

  it("formats what is as deep and as long as may be, and nothing deeper or longer", () => {
    const levels = (mark: string, deep: number): number =>
      renderHtml(`${mark.repeat(deep)}x`).match(/<(?:blockquote|ul)>/g)?.length ?? 0;
    expect([levels("> ", 38), levels("> ", 39), levels("- ", 19), levels("- ", 20)]).toEqual([38, 0, 19, 0]);
    const long = (chars: number): string => renderHtml("*a* ".padEnd(chars, "x")).slice(0, 12);
    expect([long(200_000), long(200_001)]).toEqual(["<p><em>a</em", "<p>*a* xxxxx"]);
  });

  it("sends what is too long or too deep to format as plain text, whole", () => {
    const long = "**word** ".repeat(longestMarkdownChars / 8);
    expect(texts(long, "telegram", 4096).join(" ")).toBe(long.trim());
    const deep = `${"> ".repeat(60)}deep **text**`;
    expect(texts(deep, "telegram", 4096)).toEqual([deep]);
  });
});
