// Markdown that tries to break the renderer: every construct, nested and half open, around every kind of
// awkward text.
import fc from "fast-check";

const awkward = [
  "plain words here",
  "日本語のテキスト。次の文です！",
  "שלום עולם",
  "مرحبا بالعالم",
  "👨‍👩‍👧‍👦",
  "🇩🇪🇫🇷",
  "👍🏽",
  "e\u0301\u0323",
  "a" + "\u0301".repeat(40),
  "\ud800",
  "\udc00x",
  "\u0000",
  "\u2028",
  "\u2029",
  "\u200b",
  "\u202e",
  "\ufeff",
  "\u00a0",
  "\t",
  "  ",
  "@everyone",
  "@here",
  "<@123456789012345678>",
  "<b>x</b>",
  "<script>alert(1)</script>",
  "&amp;",
  "&#10;",
  "&lt;i&gt;",
  "&#x202e;",
  "https://example.org/a_b*c?d=(e)&f",
  "javascript:alert(1)",
  "a_b_c",
  "2*3*4",
  "1. ",
  "- ",
  "# ",
  "> ",
  "\\",
  "\\*",
  "<br>",
  "||",
  "|",
  "[",
  "](",
  ")",
  "`",
  "``",
  "```",
  "~~",
  "**",
  "*",
  "_",
  "__",
  "README.md",
  "Sentence one. Sentence two! Three?",
  "x".repeat(90),
  "ｗｉｄｅ",
  "\r\n",
  "किमपि",
  "각각",
  "\u0600 1",
];

const word = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...awkward) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
);

const inline: fc.Arbitrary<string> = fc.letrec<{ inline: string; node: string }>((tie) => ({
  inline: fc.array(tie("node"), { minLength: 1, maxLength: 5 }).map((nodes) => nodes.join(" ")),
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: word },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom("**", "*", "_", "~~", "||", "`", "``", "***"), tie("inline"))
        .map(([mark, text]) => mark + text + mark),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          tie("inline"),
          fc.constantFrom(
            "https://x.org/p",
            "mailto:a@b.org",
            "javascript:x",
            "./file.md",
            "data:text/html,x",
            `https://x.org/${"u".repeat(1200)}`,
          ),
        )
        .map(([label, url]) => `[${label}](${url})`),
    },
    { weight: 1, arbitrary: tie("inline").map((label) => `![${label}](https://x.org/i.png)`) },
  ),
})).inline;

const code = fc
  .array(fc.oneof(word, fc.constantFrom("let x = 1;", "  indented", "", "```", "@everyone")), {
    maxLength: 12,
  })
  .map((lines) => lines.join("\n"));

const block: fc.Arbitrary<string> = fc.letrec<{ block: string }>((tie) => ({
  block: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: inline },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.integer({ min: 1, max: 6 }), inline)
        .map(([level, text]) => `${"#".repeat(level)} ${text}`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom("", "js", "c++", "x y", "`"), code)
        .map(([language, text]) => `\`\`\`${language}\n${text}\n\`\`\``),
    },
    { weight: 1, arbitrary: code.map((text) => `~~~\n${text}`) },
    { weight: 1, arbitrary: tie("block").map((text) => text.replace(/^/gm, "> ")) },
    {
      weight: 1,
      arbitrary: fc
        .array(tie("block"), { minLength: 1, maxLength: 4 })
        .map((items) => items.map((text) => `- ${text.replaceAll("\n", "\n  ")}`).join("\n")),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.nat({ max: 20 }), fc.array(tie("block"), { minLength: 1, maxLength: 4 }))
        .map(([first, items]) =>
          items.map((text, index) => `${first + index}. ${text.replaceAll("\n", "\n   ")}`).join("\n"),
        ),
    },
    {
      weight: 1,
      arbitrary: fc
        .array(inline, { minLength: 2, maxLength: 6 })
        .map(
          ([head = "", ...cells]) =>
            `| ${head} | b |\n|:--|--:|\n${cells.map((cell) => `| ${cell} | 1 |`).join("\n")}`,
        ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom("---", "", "- [x] done\n- [ ] open", "Title\n===", "    indented code"),
    },
  ),
})).block;

export function markdownTorture(): fc.Arbitrary<string> {
  return fc
    .array(
      fc.tuple(block, fc.constantFrom("\n", "\n\n")).map((pair) => pair.join("")),
      { minLength: 1, maxLength: 6 },
    )
    .map((blocks) => blocks.join(""));
}
