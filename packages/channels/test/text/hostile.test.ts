// Input made to be slow or to grow. Each case ends at once, in few and full messages; a regression shows as a timeout.
import { describe, expect, it } from "vitest";
import { healPartial, renderHtml, renderMarkdown } from "../../src/text/index.ts";

const size = 100_000;
const repeat = (unit: string, chars = size): string => unit.repeat(Math.floor(chars / unit.length));

const inputs: { readonly [name: string]: string } = {
  asterisks: repeat("*"),
  "open bold": repeat("**a "),
  "open styles": repeat("*_"),
  "nested italics": repeat("*a ", 15_000) + repeat("b*", 10_000),
  "open brackets": repeat("["),
  "open links": repeat("[a]("),
  "open pictures": repeat("!["),
  "open parentheses": repeat("("),
  backticks: repeat("`", 50_000),
  "runs of backticks": Array.from({ length: 440 }, (_, index) => "`".repeat(index)).join(" "),
  "less-than": repeat("<"),
  "open addresses": repeat("<http://a"),
  "joined addresses": repeat("http://a.b/"),
  "nested quotes": repeat("> "),
  "nested lists": repeat("- "),
  "stairs of lists": Array.from({ length: 300 }, (_, index) => `${"  ".repeat(index)}- x`).join("\n"),
  "quotes in lists": repeat("> - "),
  spoilers: repeat("||a|| "),
  headings: repeat("# a\n"),
  "short items": repeat("- a\n"),
  fences: repeat("```\n"),
  "code with blank lines": `\`\`\`\n${repeat("a\n\n")}`,
  "a wide table": `${repeat("|a", 20_000)}\n${repeat("|-", 20_000)}\n${repeat("|b", 20_000)}`,
  "a table that fills itself up": `${repeat("|a", 4000)}\n${repeat("|-", 4000)}\n${repeat("|b\n")}`,
  "one wide cell, many rows": `|${repeat("a", 20_000)}|b|\n|-|-|\n${repeat("|a|b|\n", 60_000)}`,
  "combining marks": `a${"\u0301".repeat(10_000)}`,
  spaces: `${repeat(" ")}x`,
  "zero width joiners": repeat("👩‍"),
  "a megabyte of prose": repeat("Hello there, this is text. ", 1_000_000),
};

describe.each(Object.entries(inputs))("hostile input: %s", (_, markdown) => {
  it("ends in messages within their limits, on Telegram, Discord and the web", () => {
    for (const [dialect, textChars] of [
      ["telegram", 4096],
      ["discord", 2000],
    ] as const) {
      const messages = renderMarkdown(markdown, { dialect, textChars, textEntities: 100 });
      for (const { text, entities } of messages) {
        expect(text.length).toBeLessThanOrEqual(textChars);
        expect(entities.length).toBeLessThanOrEqual(100);
      }
      // What is shown may be longer than the source (tables, escapes), but by no more than its own kind of tax.
      expect(messages.length).toBeLessThanOrEqual(1200);
    }
    expect(renderHtml(markdown).length).toBeLessThan(20 * markdown.length + 1000);
    expect(healPartial(markdown).length).toBeLessThan(2 * markdown.length + 1000);
  });
});
