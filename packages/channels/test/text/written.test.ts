// What becomes of Markdown at the edges of each rule, on every surface, in whole tables.
import { describe, expect, it } from "vitest";
import type { Dialect } from "@parley/protocol";
import { answerTable } from "@parley/testkit";
import { healPartial, plainText, renderHtml, renderMarkdown } from "../../src/text/index.ts";

const follow = ' rel="noopener noreferrer nofollow" target="_blank"';
const id = "123456789012345";

/** A table of so many columns under words of two letters, with rows of one letter. */
const grid = (columns: number, rows: number): string =>
  ["ab", "---", ...Array.from({ length: rows }, () => "c")]
    .map((cell) => `|${`${cell}|`.repeat(columns)}`)
    .join("\n");

function onEverySurface(markdown: string): unknown {
  const [telegram, ...more] = renderMarkdown(markdown, {
    dialect: "telegram",
    textChars: 4096,
    textEntities: 100,
  });
  const discord = renderMarkdown(markdown, { dialect: "discord", textChars: 4096 });
  const entities = telegram?.entities.map(({ type, offset, length, ...rest }) =>
    [type, telegram.text.slice(offset, offset + length), ...Object.values(rest)].join(": "),
  );
  return {
    text: telegram?.text,
    entities,
    discord: discord.map(({ text }) => text).join(" NEXT "),
    html: renderHtml(markdown).replaceAll(follow, ""),
    ...(more.length > 0 ? { more } : {}),
  };
}

/** Long runs of the same, as how often they stand there. */
function shortened(table: string): string {
  return table.replace(/(.{1,8}?)\1{29,}/g, (run, part: string) => `{${part}*${run.length / part.length}}`);
}

const blocks = [
  "- a\n\n- b",
  "- a\n- b\n\n1. c\n2. d",
  "0. a\n1. b",
  "9. a\n10. b\n    - c\n      d",
  "1) a\n2) b",
  "* a\n  * b\n    * c\n  * d\n* e",
  "-\n- b",
  "1. a\n\n   b\n2. c",
  "- [X] big\n- [x]none\n- [ ]  wide\n- [-] other",
  "[x] no item",
  "- [ ] **a**\n  - [x] b",
  "- > a\n  > b\n- c",
  "> - a\n> - b\n>\n> c",
  "> a\n\n> b",
  "> a\n>> b\n>>> c\n\nd",
  "> # a\n> b",
  "- ***\n- a",
  "1. ```\n   a\n   ```",
  "- $$\n  x_1\n  $$\n- b",
  "> \\[\n> x_1\n> \\]",
  "a\n***\nb",
  "# a\n\nb\n## c ##\nd",
  "###### a\n####### b",
  "#a",
  "a\n\n\n\nb",
  "a  \nb\\\nc\nd",
  "    indented\n      code\n\na",
  "```\n\n a \n\n\n```\nb",
  "```c++ title=x\na\n```",
  "```<b>\na\n```",
  "~~~ py\na\n```\n~~~",
  `\`\`\`${"l".repeat(40)}\na\n\`\`\``,
  `\`\`\`${"l".repeat(41)}\na\n\`\`\``,
  "```\na",
  "[a]: https://x.org\n\n[a] [b][a] [c][d]",
  "| a | b | c |\n|:-:|---|--:|\n| 1 | 2 |\n| x\\|y | `p|q` | 333 | 4 |",
  "| aaaa |\n|:-:|\n| b |\n\nafter",
  "before\n| a |\n|---|\nafter",
  `| a | b |\n|---|---|\n| ${"x".repeat(41)} | 1 |\n| ${"x".repeat(40)} | 2 |`,
  "| abcde | abcd | 中文 |\n|:-:|--:|:--|\n| b | c | d |\n| bb | ccc | 中 |",
  "- | a |\n  |---|\n  | 1 |\n- b",
  "> | a |\n> |---|\n> | 1 |",
  "| **a** | [b](https://x.org) |\n|---|---|\n| ~~c~~ | ||d|| |",
];

const inline = [
  "a*b*c ab*cd*ef a*bc*d ab*c*de 5*ab*cd ab*cd*5",
  "a_b_c _d_ e__f__g",
  "*a*b **c**d e**f**",
  "中*文*字 中**文**字 한*글* ア_イ_ウ",
  "「**a**」b **「a」** b",
  "x__init__ __init__x __a_b__ __A__ __2a__ a.__len__()",
  "a<br>b<BR/>c<br />d<brx>e",
  "www.x.org a@b.org 1.2.3.4 http://x.org ftp://x.org HTTPS://X.ORG",
  "https://x.org/a%20b https://x.org. (https://x.org)",
  "<https://x.org> <a@b.org> <tel:+1>",
  "[![alt](https://x.org/i.png)](https://y.org)",
  "[![alt](https://x.org/i.png)](#top) ![](./a.png) ![a](data:x)",
  "![a **b**\nc](https://x.org)",
  "[a\nb](https://x.org 'title')",
  "**a [b **c** d](https://x.org) e**",
  "*a **b *c* d** e*",
  "[`a` b](https://x.org)",
  "# [a](https://x.org) `b` *c*",
  "#### **a** b **c**",
  "- #### **a** b",
  "||a **b** c|| ||d||||e||",
  "|| a|| ||b || |||c||| ||d",
  "||a **b|| c** d||",
  "**||a||** \\||b||",
  "||`a` b|| **`c`** ~~d `e` f~~ `g``h`",
  "~~a~~~~b~~ ~c~ ~~~d~~~",
  "**a**__b__ *c*_d_ ~~e~~||f||",
  "** a** **b ** ****",
  "&amp; &copy; &#65; &nope; &lt;br&gt;",
  "a\u0007b\u009fc\u202ad\u2029e\u00a0f\u200bg",
  "`` ` `` ` a ` ``a`b``c``",
  "`a\nb`",
  "$x$ $ x$ $x $ $$x$$ $x$y",
  "$1 and 2$ $1+1=2$ $50 is a_b$ $20,000 and $30,000",
  "\\(abc\\) \\(word\\) \\(word_1\\) \\[a and b\\] \\[foo bar\\] \\[foo_bar\\]",
  "$abc def$ $ab cd$ $\\text{some words}$ $a`b$",
  "$a\\$b$ $a $$b$$ \\(a \\(b\\)",
  `$${"x".repeat(2000)}$ *a*`,
  `$${"x".repeat(1999)}$ *a*`,
  "$$\nword word\n$$",
  "$$ x_1 $$\na",
  "$$ x_1 $$ a",
  "$$\nx_1\n\n$$",
  `$$\n${"x_1\n".repeat(98)}$$\na`,
  `$$\n${"x_1\n".repeat(99)}$$\na`,
  "  $$\n  x_1\n  $$",
  "    $$\n    x_1\n    $$",
];

const links = [
  "[a](mailto:b@x.org) [b@x.org](mailto:b@x.org) [mailto:b@x.org](mailto:b@x.org)",
  "[a](#top) [b]() [c](tel:+1) [d](/p) [/p](/p) [e](JavaScript:1) [f](file:///x) [g](vbscript:1) [h](blob:1)",
  "[https://x.org](https://x.org/) [https://x.org/](https://x.org) [x.org](https://x.org)",
  "[www.good.org](https://x.org) [discord.gg/a](https://x.org) [HTTP://a](https://x.org)",
  '[a](HTTP://x.org) [b](ftp://x.org) [c](https://x.org/ü?q="1")',
  "[a **b**](ftp://x.org) c",
  `[a](https://x.org/${"p".repeat(986)})`,
  `[a](https://x.org/${"p".repeat(987)})`,
  `https://x.org/${"p".repeat(987)}`,
];

const discordEdges = [
  `<@${id}> <@!${id}> <@&${id}> <#${id}> <a:ab:${id}> <:ab:${id}> <:a:${id}> <@1234>`,
  `<@${id}678901> <@${id}6789012> <:${"n".repeat(32)}:${id}> <:${"n".repeat(33)}:${id}>`,
  "<t:1> <t:-1:R> <t:1234567890123:f> <t:12345678901234> <t:1:RR> <id:guide>",
  "@everyone @here @everyones a@here [@here](https://x.org/@everyone) `@everyone`",
  "\\# a\n\\## b\n\\#### c\n\\-# d\n\\- e\n\\+ f\n1\\. g\n12\\) h\n3\\.i\n\\> j",
  "a\\\n\\# b",
  "  \\# a",
  "- \\# a\n- 1\\. b\n- \\- c",
  "> \\# a",
  "a\\\\b \\[c\\] \\`d\\` e\\|f g\\~h",
  "# a\n## b\n### c\n#### d",
  "> `a`\n> ```\n> b```c\n> ```\n> d",
  "`a``b` `` c```d ``",
];

describe("Markdown at the edges of its rules", () => {
  it("is text with entities, Discord Markdown and HTML", async () => {
    const inputs = [...blocks, ...inline, ...links, ...discordEdges];
    await expect(shortened(answerTable(inputs, onEverySurface))).toMatchFileSnapshot("../tables/written.txt");
  });

  it("pads a table of 4,000 cells, and none of more", () => {
    const table = (rows: number): string =>
      `| a | b |\n|---|---|\n| wide cell | c |\n${"| d | e |\n".repeat(rows - 2)}`;
    expect(plainText(table(2000)).split("\n").slice(0, 4)).toEqual([
      "a         | b",
      "----------+--",
      "wide cell | c",
      "d         | e",
    ]);
    expect(plainText(table(2001)).split("\n").slice(0, 4)).toEqual([
      "a | b",
      "--+--",
      "wide cell | c",
      "d | e",
    ]);
  });

  it("formats 38 quotes and 19 lists in one another, and shows deeper ones as written", () => {
    const quoted = (depth: number): string => `${"> ".repeat(depth)}**a**`;
    expect([37, 38, 39].map((depth) => renderHtml(quoted(depth)).includes("<strong>"))).toEqual([
      true,
      true,
      false,
    ]);
    const listed = (depth: number): string =>
      Array.from({ length: depth }, (_, level) => `${"  ".repeat(level)}- **a**`).join("\n");
    expect([18, 19, 20].map((depth) => renderHtml(listed(depth)).includes("<strong>"))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("formats a text of 200,000 characters, and shows a longer one as written", () => {
    const long = `**a** ${"b".repeat(199_994)}`;
    expect(plainText(long).slice(0, 4)).toBe("a bb");
    expect(plainText(`${long}b`).slice(0, 7)).toBe("**a** b");
  });

  it("has no limit for programs, which get the Markdown itself", () => {
    expect(renderMarkdown("**a** ".repeat(3), { dialect: "markdown", textChars: 4 })).toEqual([
      { text: "**a** **a** **a** ", entities: [], plain: "a a a" },
    ]);
    expect(renderMarkdown(" \n", { dialect: "markdown", textChars: 4 })).toEqual([]);
  });
});

const parts = [
  "a ||b|",
  "a ~~b~",
  "a ~b",
  "a __b",
  "a __b_",
  "a_b __c",
  "**a*b",
  "a*b **c",
  "****a",
  "***a* b",
  "**a *b* c",
  "**a\nb *c\n\nd",
  "# *a",
  "a\n# *b",
  "*a\n# b",
  "*a\n1. b",
  "1. *a\n2) *b",
  "+ *a\n+ *b",
  "`a *b",
  "```a",
  "a ```b",
  "a `b``c",
  "a ``b`c",
  "a ` ",
  "[a](b) [c",
  "[a]( b *c",
  "a ![b",
  "a! [b",
  "[a\nb",
  `[${"a".repeat(199)}`,
  `[${"a".repeat(200)}`,
  `[a](${"b".repeat(1998)}`,
  `[a](${"b".repeat(1999)}`,
  `[a](${"b".repeat(1997)}) *c`,
  "[a\\] b",
  "[a [b] c",
  "[a](b\nc",
  "a $x",
  "a \\(x *",
  "a \\(x_1\\) *b",
  "> *a",
  "> $$\n> x",
  "a\n\n$$\nx\n$$",
  "$$\nx\n$$\n\n$$\ny",
  "- ~~~\n  a",
  "1. ```js\n   a\n   ``",
  "> > ```\n> > a",
  "```\n**a\n```",
  "```\n**a\n```\n",
  "```\na\n```\n~~~\nb\n~~~\n*c",
  "``` a`b\n*c",
  "a\n=",
  "a\n==",
  "a\n1",
  "a\n1.",
  "a\n1234567890",
  "a\n>",
  "a\n#",
  "a\n##",
  "a\n+",
  "a\n**",
  "a\n~~",
  "a\n~~~",
  "a\n- ",
  "a\n-b",
  "| a |\n|-",
  "| a |\n| b",
  "| a |\n| b |",
  "| a |\n|---|\n| 1 |",
  "| a |\n|---|\n| 1 |\n",
  "| a |\n|---|\n| 1 |\nb *c",
  "a\n| b",
  "||a",
  "a \\*b *c\\",
  "a \\\\*b",
];

describe("a partial reply, at the edges", () => {
  it("closes what is open and holds back what is half written", async () => {
    await expect(shortened(answerTable(parts, healPartial))).toMatchFileSnapshot("../tables/healed.txt");
  });
});

const cuts: readonly (readonly [dialect: Dialect, textChars: number, markdown: string, entities?: number])[] =
  [
    ["plain", 20, "aaaaa\n\nbbbbb ccccc ddddd"],
    ["plain", 20, "aaaaaa\n\nbbbbb ccccc ddddd"],
    ["plain", 20, "aaaaaaa bbbb\nccccc ddddd"],
    ["plain", 20, "aaaaaaa\nbbbbbb ccccc ddddd"],
    ["plain", 20, "aaaaaaaa\nbbbbbb ccccc ddddd"],
    ["plain", 20, "aaa aaa. bbbbbb ccccc ddddd"],
    ["plain", 20, "aaaaa aaa. bbbbbb ccccc ddddd"],
    ["plain", 20, 'aaaa "aaaa!") bbb ccccc ddddd'],
    ["plain", 20, "aaaa 3.5 bbbb v1.2 cc ddd eee"],
    ["plain", 20, "aaaaaaaaaaaaa bbbbb. cc"],
    ["plain", 20, "aaaaaaaaaaaaaa bbbbb. cc"],
    ["plain", 20, "aaaaa bbbbbbbbbbbbbbbbbbbb c"],
    ["plain", 20, "aaaaa bbbbbbbbbbbbbbbbbbbbb c"],
    ["plain", 20, "aaaaaaaaaaaaaaaaaaaa\n\nb"],
    ["plain", 20, "aaaaaaaaaaaaaaaaaaaaa\n\nb"],
    ["plain", 10, "a b\n\n- c\n- d\n- e"],
    ["plain", 9, "1. aaaaaaaa\n2. bb"],
    ["plain", 12, "```\na\n\nb\n\n  c\n  d\n```"],
    ["plain", 12, "aaaaaaaa   \n\n   bbb"],
    ["discord", 20, "> aaaa bbbb\n> cccc dddd eeee"],
    ["discord", 22, "- aaaa\n  - bbbb\n  - cccc\n- dddd"],
    ["discord", 24, "||aaaa bbbb cccc dddd eeee||"],
    ["discord", 30, "~~aa [bb cc dd](https://x.org/y) ee~~"],
    ["discord", 18, "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"],
    ["discord", 40, `[a](https://x.org/${"p".repeat(40)}) b`],
    ["discord", 400, `[a](https://x.org/${"p".repeat(340)}) ${"b ".repeat(30)}`],
    ["telegram", 20, "**aaaa `bbbb` cccc dddd** eeee ffff"],
    ["telegram", 22, "https://x.org/aaaa/bbbb/cccc b"],
    ["telegram", 30, "**a** *b* ~~c~~ d", 2],
    ["telegram", 30, "**a** *b* ~~c~~ d", 3],
    ["html", 50, "1. aaaa\n2. bbbb\n3. cccc"],
    ["html", 50, "> aaaa\n>\n> bbbb cccc"],
    ["html", 25, "a &amp; b &lt; c"],
  ];

describe("long replies, at the edges", () => {
  it("are cut where it hurts least, with all markup whole", async () => {
    const table = answerTable(cuts, ([dialect, textChars, markdown, textEntities]) =>
      renderMarkdown(markdown, {
        dialect,
        textChars,
        ...(textEntities === undefined ? {} : { textEntities }),
      }).map(({ text, entities }) =>
        entities.length === 0
          ? text
          : [text, ...entities.map(({ type, offset, length }) => [type, offset, length])],
      ),
    );
    await expect(shortened(table)).toMatchFileSnapshot("../tables/cuts.txt");
  });
});

it("a table's cells stand in columns up to four thousand of them; in a larger one they are not padded", () => {
  const second = (columns: number, rows: number): string | undefined =>
    renderMarkdown(grid(columns, rows), { dialect: "telegram", textChars: 1_000_000, textEntities: 100 })[0]
      ?.text.split("\n")
      .slice(1, 3)
      .map((line) => line.slice(0, 8))
      .join("/");
  expect([second(40, 99), second(40, 100), second(4, 999), second(4, 1_000)]).toEqual([
    "---+----/c  | c  ",
    "--+---+-/c | c | ",
    "---+----/c  | c  ",
    "--+---+-/c | c | ",
  ]);
});
