// Every construct of Markdown on every surface, exactly.
import { describe, expect, it } from "vitest";
import { plainText, renderHtml, renderMarkdown } from "../../src/text/index.ts";

interface Case {
  readonly name: string;
  readonly markdown: string;
  readonly plain: string;
  /** `type=covered text`, with `|` and the address or language after it. */
  readonly entities: readonly string[];
  readonly discord: string;
  readonly html: string;
}

const follow = 'rel="noopener noreferrer nofollow" target="_blank"';
const zeroWidthSpace = "\u200b";

const cases: readonly Case[] = [
  {
    name: "bold, italic, strike and spoiler",
    markdown: "**b** *i* ~~s~~ ||x|| ***both***",
    plain: "b i s x both",
    entities: ["bold=b", "italic=i", "strikethrough=s", "spoiler=x", "italic=both", "bold=both"],
    discord: "**b** _i_ ~~s~~ ||x|| _**both**_",
    html: '<p><strong>b</strong> <em>i</em> <s>s</s> <span class="spoiler">x</span> <em><strong>both</strong></em></p>',
  },
  {
    name: "code inside bold: the bold ends and goes on, because Telegram's code lies in no style",
    markdown: "**a `c` b**",
    plain: "a c b",
    entities: ["bold=a", "code=c", "bold=b"],
    discord: "**a `c` b**",
    html: "<p><strong>a <code>c</code> b</strong></p>",
  },
  {
    name: "code inside a spoiler: hiding it matters more than its font",
    markdown: "||a `c`||",
    plain: "a c",
    entities: ["spoiler=a c"],
    discord: "||a `c`||",
    html: '<p><span class="spoiler">a <code>c</code></span></p>',
  },
  {
    name: "bold in bold, once",
    markdown: "**a **b** c**",
    plain: "a b c",
    entities: ["bold=a b c"],
    discord: "**a b c**",
    html: "<p><strong>a b c</strong></p>",
  },
  {
    name: "italics inside a word",
    markdown: "un*believ*able",
    plain: "unbelievable",
    entities: ["italic=believ"],
    discord: "un*believ*able",
    html: "<p>un<em>believ</em>able</p>",
  },
  {
    name: "products are no italics, and names of Python not bold",
    markdown: "2*3*4 and a*b*c, see __init__.py and __main__, **but** __This one__",
    plain: "2*3*4 and a*b*c, see __init__.py and __main__, but This one",
    entities: ["bold=but", "bold=This one"],
    discord: "2\\*3\\*4 and a\\*b\\*c, see \\_\\_init\\_\\_.py and \\_\\_main\\_\\_, **but** **This one**",
    html: "<p>2*3*4 and a*b*c, see __init__.py and __main__, <strong>but</strong> <strong>This one</strong></p>",
  },
  {
    name: "formulas stay as written, and hold no styles",
    markdown: String.raw`so $x_1 * y_2 * z$, $$a_b$$ and \(f(x)\)`,
    plain: String.raw`so $x_1 * y_2 * z$, $$a_b$$ and \(f(x)\)`,
    entities: [],
    discord: String.raw`so $x\_1 \* y\_2 \* z$, $$a\_b$$ and \\(f(x)\\)`,
    html: String.raw`<p>so <span class="math">$x_1 * y_2 * z$</span>, <span class="math">$$a_b$$</span> and <span class="math">\(f(x)\)</span></p>`,
  },
  {
    name: "a formula on lines of its own, where a plus begins no list",
    markdown: "a:\n$$\nx\n+ *y*\n$$\n- b\n  \\[\n  c\n  \\]",
    plain: "a:\n$$\nx\n+ *y*\n$$\n• b\n\\[\nc\n\\]",
    entities: [],
    discord: "a:\n$$\nx\n\\+ \\*y\\*\n$$\n- b\n\\\\\\[\nc\n\\\\\\]",
    html: '<p>a:</p><div class="math">$$\nx\n+ *y*\n$$</div><ul><li>b<div class="math">\\[\nc\n\\]</div></li></ul>',
  },
  {
    name: "prices, variables, code and escaped brackets are no formulas",
    markdown: String.raw`$5 and $6, US$5 or AU$ x, $5, he paid 6$. $HOME/$USER $a ${"`b$`"} \[no link\](x) \(bar bar\)`,
    plain: "$5 and $6, US$5 or AU$ x, $5, he paid 6$. $HOME/$USER $a b$ [no link](x) (bar bar)",
    entities: ["code=b$"],
    discord: "$5 and $6, US$5 or AU$ x, $5, he paid 6$. $HOME/$USER $a `b$` \\[no link\\](x) (bar bar)",
    html: "<p>$5 and $6, US$5 or AU$ x, $5, he paid 6$. $HOME/$USER $a <code>b$</code> [no link](x) (bar bar)</p>",
  },
  {
    name: "backticks in code",
    markdown: "`` a`b ``",
    plain: "a`b",
    entities: ["code=a`b"],
    discord: "`` a`b ``",
    html: "<p><code>a`b</code></p>",
  },
  {
    name: "a fence with its language",
    markdown: "```js\nlet a;\n```",
    plain: "let a;",
    entities: ["pre=let a;|js"],
    discord: "```js\nlet a;\n```",
    html: '<pre><code class="language-js">let a;</code></pre>',
  },
  {
    name: "a fence that holds a fence",
    markdown: "````\n```\n````",
    plain: "```",
    entities: ["pre=```"],
    discord: `\`\`\`\n\`${zeroWidthSpace}\`\`\n\`\`\``,
    html: "<pre><code>```</code></pre>",
  },
  {
    name: "a masked link",
    markdown: "[a *b*](https://x.org/?q=(1)&r=2)",
    plain: "a b",
    entities: ["text_link=a b|https://x.org/?q=(1)&r=2", "italic=b"],
    discord: "[a _b_](<https://x.org/?q=(1)&r=2>)",
    html: `<p><a href="https://x.org/?q=(1)&amp;r=2" ${follow}>a <em>b</em></a></p>`,
  },
  {
    name: "a bare address, its underscores untouched; a file name is none",
    markdown: "see https://x.org/a_b_c, README.md",
    plain: "see https://x.org/a_b_c, README.md",
    entities: [],
    discord: "see <https://x.org/a_b_c>, README.md",
    html: `<p>see <a href="https://x.org/a_b_c" ${follow}>https://x.org/a_b_c</a>, README.md</p>`,
  },
  {
    name: "a link whose label is another address: Discord would not link it",
    markdown: "[https://good.org](https://evil.org)",
    plain: "https://good.org",
    entities: ["text_link=https://good.org|https://evil.org"],
    discord: "https://good.org (<https://evil.org>)",
    html: `<p><a href="https://evil.org" ${follow}>https://good.org</a></p>`,
  },
  {
    name: "mail and relative addresses, spelled out where they cannot be linked",
    markdown: "[me](mailto:a@x.org) [file](./a.md)",
    plain: "me (a@x.org) file (./a.md)",
    entities: [],
    discord: "me (a@x.org) file (./a.md)",
    html: `<p><a href="mailto:a@x.org" ${follow}>me</a> file</p>`,
  },
  {
    name: "addresses that carry code",
    markdown: "[a](javascript:alert(1)) [b](data:text/html,x) ![c](data:image/png;base64,AAAA)",
    plain: "a b c",
    entities: [],
    discord: "a b c",
    html: "<p>a b c</p>",
  },
  {
    name: "a picture, as a link",
    markdown: "![a cat](https://x.org/c.png) ![](https://x.org/d.png)",
    plain: "a cat image",
    entities: ["text_link=a cat|https://x.org/c.png", "text_link=image|https://x.org/d.png"],
    discord: "[a cat](<https://x.org/c.png>) [image](<https://x.org/d.png>)",
    html: `<p><a href="https://x.org/c.png" ${follow}>a cat</a> <a href="https://x.org/d.png" ${follow}>image</a></p>`,
  },
  {
    name: "a heading over two lines is one line, the paragraph after it keeps its lines",
    markdown: "One\ntwo\n===\na\nb",
    plain: "One two\na\nb",
    entities: ["bold=One two"],
    discord: "# One two\na\nb",
    html: "<h1>One two</h1><p>a<br>b</p>",
  },
  {
    name: "headings: Discord has three sizes",
    markdown: "# One\n#### Four **b**\n\ntext",
    plain: "One\nFour b\n\ntext",
    entities: ["bold=One", "bold=Four b"],
    discord: "# One\n**Four b**\n\ntext",
    html: "<h1>One</h1><h4>Four <strong>b</strong></h4><p>text</p>",
  },
  {
    name: "nested lists with their numbers",
    markdown: "3. a\n4. b\n   - c\n     d\n   - e\n5. f",
    plain: "3. a\n4. b\n   • c\n     d\n   • e\n5. f",
    entities: [],
    discord: "3. a\n4. b\n   - c\n     d\n   - e\n5. f",
    html: '<ol start="3"><li>a</li><li>b<ul><li>c<br>d</li><li>e</li></ul></li><li>f</li></ol>',
  },
  {
    name: "a list right after its introduction, and code in an item",
    markdown: "Do:\n- a\n  ```sh\n  ls -l\n  ```\n- b",
    plain: "Do:\n• a\nls -l\n• b",
    entities: ["pre=ls -l|sh"],
    discord: "Do:\n- a\n```sh\nls -l\n```\n- b",
    html: '<p>Do:</p><ul><li>a<pre><code class="language-sh">ls -l</code></pre></li><li>b</li></ul>',
  },
  {
    name: "a bullet stands outside the style of its item",
    markdown: "- **a** b\n- # c",
    plain: "• a b\n• c",
    entities: ["bold=a", "bold=c"],
    discord: "- **a** b\n- **c**",
    html: "<ul><li><strong>a</strong> b</li><li><h1>c</h1></li></ul>",
  },
  {
    name: "styles around punctuation in scripts without spaces",
    markdown: "これは**「重要」**です。**注意：**中文",
    plain: "これは「重要」です。注意：中文",
    entities: ["bold=「重要」", "bold=注意："],
    discord: "これは**「重要」**です。**注意：**中文",
    html: "<p>これは<strong>「重要」</strong>です。<strong>注意：</strong>中文</p>",
  },
  {
    name: "tasks",
    markdown: "- [x] done\n- [ ] open\n1. [x] first",
    plain: "☑ done\n☐ open\n1. ☑ first",
    entities: [],
    discord: "- ☑ done\n- ☐ open\n1. ☑ first",
    html: "<ul><li>☑ done</li><li>☐ open</li></ul><ol><li>☑ first</li></ol>",
  },
  {
    name: "quotes: platforms know one level, the inner is written out",
    markdown: "> a\n> > b\n\nc",
    plain: "a\n> b\n\nc",
    entities: ["blockquote=a\n> b"],
    discord: "> a\n> > b\n\nc",
    html: "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>",
  },
  {
    name: "code in a quote",
    markdown: "> a\n> ```\n>   b\n> c\n> ```",
    plain: "a\n  b\nc",
    entities: ["blockquote=a\n  b\nc", "pre=  b\nc"],
    discord: "> a\n> ```\n>   b\n> c\n> ```",
    html: "<blockquote><p>a</p><pre><code>  b\nc</code></pre></blockquote>",
  },
  {
    name: "a table, aligned by width",
    markdown: "| Name | 数 |\n|:--|--:|\n| **日本** | 3 |\n| x<BR >y | 👍🏽 |",
    plain: "Name | 数\n-----+---\n日本 |  3\nx y  | 👍🏽",
    entities: ["pre=Name | 数\n-----+---\n日本 |  3\nx y  | 👍🏽"],
    discord: "```\nName | 数\n-----+---\n日本 |  3\nx y  | 👍🏽\n```",
    html:
      '<table><thead><tr><th class="left">Name</th><th class="right">数</th></tr></thead>' +
      '<tbody><tr><td class="left"><strong>日本</strong></td><td class="right">3</td></tr>' +
      '<tr><td class="left">x y</td><td class="right">👍🏽</td></tr></tbody></table>',
  },
  {
    name: "a rule",
    markdown: "a\n\n---\n\nb",
    plain: "a\n\n──────────\n\nb",
    entities: [],
    discord: "a\n\n──────────\n\nb",
    html: "<p>a</p><hr><p>b</p>",
  },
  {
    name: "HTML, as text",
    markdown: "<script>alert('1')</script> &lt;b&gt; a<br/>b",
    plain: "<script>alert('1')</script> <b> a\nb",
    entities: [],
    discord: "\\<script\\>alert('1')\\</script\\> \\<b\\> a\nb",
    html: "<p>&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &lt;b&gt; a<br>b</p>",
  },
  {
    name: "text that only looks like markup",
    markdown: "\\# a \\*b\\* \\|\\|c\\|\\| 2 * 3 snake_case_name\n1986\\. A year\n\\- no item\n+1",
    plain: "# a *b* ||c|| 2 * 3 snake_case_name\n1986. A year\n- no item\n+1",
    entities: [],
    discord: "\\# a \\*b\\* \\|\\|c\\|\\| 2 \\* 3 snake\\_case\\_name\n1986\\. A year\n\\- no item\n+1",
    html: "<p># a *b* ||c|| 2 * 3 snake_case_name<br>1986. A year<br>- no item<br>+1</p>",
  },
  {
    name: "neighbours that would run together on Discord",
    markdown: "aa*bb***cc**",
    plain: "aabbcc",
    entities: ["italic=bb", "bold=cc"],
    discord: `aa*bb*${zeroWidthSpace}**cc**`,
    html: "<p>aa<em>bb</em><strong>cc</strong></p>",
  },
  {
    name: "mentions: persons, places and emoji pass on Discord, everyone does not",
    markdown: "@everyone `@here` <@123456789012345678> <:wave_1:123456789012345678> <t:1700000000:R>",
    plain: "@everyone @here <@123456789012345678> <:wave_1:123456789012345678> <t:1700000000:R>",
    entities: ["code=@here"],
    discord: `@${zeroWidthSpace}everyone \`@${zeroWidthSpace}here\` <@123456789012345678> <:wave_1:123456789012345678> <t:1700000000:R>`,
    html: "<p>@everyone <code>@here</code> &lt;@123456789012345678&gt; &lt;:wave_1:123456789012345678&gt; &lt;t:1700000000:R&gt;</p>",
  },
  {
    name: "characters that platforms refuse, or that disguise",
    markdown: "a\u0000b\ud800c\u202ed&#x202e;e\u2028f\r\ng",
    plain: "ab\ufffdcde\nf\ng",
    entities: [],
    discord: "ab\ufffdcde\nf\ng",
    html: "<p>ab\ufffdcde<br>f<br>g</p>",
  },
];

describe.each(cases)("Markdown: $name", ({ markdown, plain, entities, discord, html }) => {
  it("is Telegram text with entities", () => {
    const [message, ...more] = renderMarkdown(markdown, {
      dialect: "telegram",
      textChars: 4096,
      textEntities: 100,
    });
    expect(more).toEqual([]);
    expect(message?.text).toBe(plain);
    expect(message?.plain).toBe(plain);
    const shown = message?.entities.map(({ type, offset, length, url, language }) => {
      const extra = url ?? language;
      return `${type}=${plain.slice(offset, offset + length)}${extra === undefined ? "" : `|${extra}`}`;
    });
    expect(shown).toEqual(entities);
  });

  it("is Discord Markdown", () => {
    const messages = renderMarkdown(markdown, { dialect: "discord", textChars: 2000 });
    expect(messages.map(({ text }) => text)).toEqual([discord]);
  });

  it("is HTML, and plain text", () => {
    expect(renderHtml(markdown)).toBe(html);
    expect(renderMarkdown(markdown, { dialect: "html", textChars: 4096 }).map(({ text }) => text)).toEqual([
      html,
    ]);
    expect(plainText(markdown)).toBe(plain);
    expect(renderMarkdown(markdown, { dialect: "plain", textChars: 4096 }).map(({ text }) => text)).toEqual([
      plain,
    ]);
  });
});
