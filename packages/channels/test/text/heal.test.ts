// Text that stops in the middle, as a streaming preview sees it.
import { describe, expect, it } from "vitest";
import { healPartial, renderMarkdown } from "../../src/text/index.ts";

const cases: readonly (readonly [why: string, partial: string, healed: string])[] = [
  ["open bold is closed", "say **bo", "say **bo**"],
  ["a space before the end would keep bold from closing", "say **bo ", "say **bo**"],
  ["half a closing mark is completed", "say **bo*", "say **bo**"],
  ["a mark that opens nothing yet waits", "say **", "say"],
  ["nested styles close inside out", "***x", "***x***"],
  ["a style and code", "**a `b", "**a `b`**"],
  ["half of a closing run of backticks", "``a`", "``a``"],
  ["strike and spoiler", "~~a ||b", "~~a ||b||~~"],
  ["a product is no style", "2*3", "2*3"],
  ["a name is no style", "snake_case", "snake_case"],
  ["an escaped mark opens nothing", "\\*a", "\\*a"],
  ["half an escape waits", "a\\", "a"],
  ["styles end with their paragraph", "**a\n\nb", "**a\n\nb"],
  ["styles end with their item", "- **a\n- *b", "- **a\n- *b*"],
  ["an open fence is closed", "```js\nlet a", "```js\nlet a\n```"],
  ["a fence whose language is still coming waits", "a\n```j", "a"],
  ["half of a closing fence waits", "```\na\n``", "```\na\n```"],
  ["a longer fence needs as long an end", "````\n```\na", "````\n```\na\n````"],
  ["a shorter fence closes no longer one", "````\na\n```\nb **c", "````\na\n```\nb **c\n````"],
  ["a fence of another kind closes none", "~~~\na\n```\nb **c", "~~~\na\n```\nb **c\n~~~"],
  ["a longer fence closes a shorter one", "```\na\n````\nb **c", "```\na\n````\nb **c**"],
  ["code that just ended stays as it is", "**a**\n```\n**b\n````", "**a**\n```\n**b\n````"],
  ["a fence in a quote", "> ```\n> a", "> ```\n> a\n> ```"],
  ["a fence in an item", "- ```\n  a", "- ```\n  a\n  ```"],
  ["marks in code stay", "```\n**a", "```\n**a\n```"],
  ["an open formula on lines of its own waits", "a\n$$\nx_1 *", "a"],
  ["so does one in brackets", "a\n\\[ x", "a"],
  ["a closed one stays", "x\n$$\na\n$$\ny *b", "x\n$$\na\n$$\ny *b*"],
  ["an empty line shows that it is none", "$$ is dear\n\nb", "$$ is dear\n\nb"],
  ["marks in a formula open nothing", "so $a * {*b}$ and *c", "so $a * {*b}$ and *c*"],
  ["a price waits for nothing", "it costs $5 and", "it costs $5 and"],
  ["half a label waits", "see [the do", "see"],
  ["a label may become a link", "see [it]", "see"],
  ["half an address waits", "see [it](https://x", "see"],
  ["half a picture waits", "see ![it](https://x", "see"],
  ["a whole link stays", "see [it](https://x_y.org)", "see [it](https://x_y.org)"],
  ["brackets in the past stay", "a [b] c", "a [b] c"],
  ["a table's header waits for its dashes", "a\n\n| x | y |\n|--", "a\n"],
  ["a table without rows", "| x | y |\n|---|---|\n", "| x | y |\n|---|---|"],
  ["half a row waits", "| x | y |\n|---|---|\n| 1 | ", "| x | y |\n|---|---|"],
  ["a line that may still become anything waits", "a\n-", "a"],
  ["a style stays closed over a line end, and before a line that waits", "say **bo\n-", "say **bo**"],
  ["a style over the lines of a quote", "> **a\n> b", "> **a\n> b**"],
  ["finished text stays as it is", "# A\n\n- **b** `c`\n\nd", "# A\n\n- **b** `c`\n\nd"],
];

describe("a partial reply", () => {
  it.each(cases)("%s", (_, partial, healed) => {
    expect(healPartial(partial)).toBe(healed);
  });

  it("shows no mark of its styles at any length", () => {
    const reply =
      "Some **bold and *both* words**, `code`, ~~gone~~ and [a link](https://x.org).\n\n```js\nlet a;\n```\nDone.";
    for (let chars = 1; chars <= reply.length; chars += 1) {
      const messages = renderMarkdown(healPartial(reply.slice(0, chars)), {
        dialect: "telegram",
        textChars: 4096,
      });
      for (const { text } of messages) expect(text).not.toMatch(/[*`~[\]()]/);
    }
  });
});
