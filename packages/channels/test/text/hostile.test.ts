// Input made to be slow or to grow. Each case ends at once, in few and full messages; a regression shows as a
// timeout. What is slow by the square takes a sixth of the time at 40,000 characters that it takes at
// 100,000, so the patience is a sixth too: it shows as soon, and what is right costs less than half.
import { describe, expect, it } from "vitest";
import { healPartial, renderHtml, renderMarkdown } from "../../src/text/index.ts";

const size = 40_000;
const patienceMs = 30_000;
const repeat = (unit: string, chars = size): string => unit.repeat(Math.floor(chars / unit.length));

const inputs: { readonly [name: string]: string } = {
  asterisks: repeat("*"),
  "open bold": repeat("**a "),
  "open styles": repeat("*_"),
  "nested italics": repeat("*a ", 6_000) + repeat("b*", 4_000),
  "open brackets": repeat("["),
  "open links": repeat("[a]("),
  "open pictures": repeat("!["),
  "open parentheses": repeat("("),
  backticks: repeat("`", 20_000),
  "runs of backticks": Array.from({ length: 280 }, (_, index) => "`".repeat(index)).join(" "),
  "less-than": repeat("<"),
  "open addresses": repeat("<http://a"),
  "joined addresses": repeat("http://a.b/"),
  "nested quotes": repeat("> "),
  "nested lists": repeat("- "),
  "stairs of lists": Array.from({ length: 190 }, (_, index) => `${"  ".repeat(index)}- x`).join("\n"),
  "quotes in lists": repeat("> - "),
  spoilers: repeat("||a|| "),
  headings: repeat("# a\n"),
  "short items": repeat("- a\n"),
  fences: repeat("```\n"),
  "open formulas": repeat("$a "),
  "many formulas": repeat("$x$ "),
  "open formulas in brackets": repeat("\\(x "),
  "open blocks of formulas": repeat("$$a\n"),
  "formulas one in another": repeat("\\[\\($$"),
  "code with blank lines": `\`\`\`\n${repeat("a\n\n")}`,
  "a wide table": `${repeat("|a", 8_000)}\n${repeat("|-", 8_000)}\n${repeat("|b", 8_000)}`,
  "a table that fills itself up": `${repeat("|a", 1600)}\n${repeat("|-", 1600)}\n${repeat("|b\n")}`,
  "one wide cell, many rows": `|${repeat("a", 8_000)}|b|\n|-|-|\n${repeat("|a|b|\n", 24_000)}`,
  "combining marks": `a${"\u0301".repeat(4_000)}`,
  spaces: `${repeat(" ")}x`,
  "zero width joiners": repeat("👩‍"),
  "a megabyte of prose": repeat("Hello there, this is text. ", 1_000_000),
};

describe.each(Object.entries(inputs))("hostile input: %s", (_, markdown) => {
  it(
    "ends in messages within their limits, on Telegram, Discord and the web",
    { timeout: patienceMs },
    () => {
      for (const [dialect, textChars] of [
        ["telegram", 4096],
        ["discord", 2000],
      ] as const) {
        const messages = renderMarkdown(markdown, { dialect, textChars, textEntities: 100 });
        for (const { text, entities } of messages) {
          expect(text.length).toBeLessThanOrEqual(textChars);
          expect(entities.length).toBeLessThanOrEqual(100);
        }
        // What is shown may be longer than the source (tables, escapes), but by no more than its own kind of
        // tax.
        expect(messages.length).toBeLessThanOrEqual(1200);
      }
      expect(renderHtml(markdown).length).toBeLessThan(20 * markdown.length + 1000);
      expect(healPartial(markdown).length).toBeLessThan(2 * markdown.length + 1000);
    },
  );
});
