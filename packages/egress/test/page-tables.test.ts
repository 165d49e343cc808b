// Whole answers of the parts that read a page: which style hides a text, what is left of the HTML, the
// Markdown of it, and the charset. A wanted change is taken up with `-u` and read in the diff.
import { answerTable, laterAnswerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { decodedText } from "../src/page/charset.ts";
import { plainText, readHtml } from "../src/page/readable.ts";
import {
  lookWith,
  plainLook,
  showsText,
  styleRules,
  stylesOf,
  type Styled,
} from "../src/page/style-rules.ts";
import { visibleHtml } from "../src/page/visible-html.ts";

const element = (tag: string, more: Partial<Styled> = {}): Styled => ({
  tag,
  id: "",
  classes: new Set(),
  parent: null,
  ...more,
});
const look = (styles: readonly string[]) =>
  styles.reduce(
    (inherited, style) => lookWith(inherited, stylesOf(new Map(), element("p"), style)),
    plainLook,
  );

/** Each property at the last value that hides and at the first that does not. */
const styles: readonly string[] = [
  "",
  "display:none",
  "display:block",
  "display:none;display:block",
  "content-visibility:hidden",
  "content-visibility:auto",
  "opacity:0",
  "opacity:0.049",
  "opacity:0.05",
  "opacity:calc( 0.01 * 1)",
  "opacity:inherit",
  "filter:opacity(0)",
  "filter:opacity(0.04)",
  "filter:opacity(.05)",
  "filter:opacity(4%)",
  "filter:opacity(5%)",
  "filter:blur(2px)",
  "filter:url(https://a.test/x) opacity(0)",
  "transform:scale(0)",
  "transform:scaleX(0, 1)",
  "transform:scaley(0.01)",
  "transform:scale(0.1)",
  "transform:scale(1)",
  "transform:translate(-100px)",
  "transform:translatex(-999%)",
  "transform:translatey(-99px)",
  "transform:translate(100px)",
  "clip:rect(0,0,0,0)",
  "clip:rect(1px,1px,1px,1px)",
  "clip:rect(2px,9px,9px,2px)",
  "clip-path:inset(50%)",
  "clip-path:inset(100%)",
  "clip-path:inset(49%)",
  "clip-path:circle(0)",
  "clip-path:circle(50%)",
  "text-indent:-399px",
  "text-indent:-400px",
  "text-indent:-24em",
  "text-indent:-25em",
  "text-indent:-25rem",
  "text-indent:-98%",
  "text-indent:-99%",
  "text-indent:-99vw",
  "text-indent:-100vh",
  "margin-left:-400px",
  "margin-top:-400px",
  "margin-right:-400px",
  "margin-bottom:-400px",
  "position:absolute;left:-399px",
  "position:absolute;left:-400px",
  "position:fixed;right:-400px",
  "position:absolute;top:-400px",
  "position:absolute;bottom:-400px",
  "position:relative;left:-400px",
  "left:-400px",
  "overflow:hidden;width:1px",
  "overflow:hidden;width:2px",
  "overflow:hidden;height:0",
  "overflow:clip;max-width:0",
  "overflow-x:hidden;max-height:1px",
  "overflow-y:hidden;height:1.9px",
  "overflow:visible;height:0",
  "overflow:hidden",
  "height:0",
  "font-size:0",
  "font-size:1.9px",
  "font-size:2px",
  "font-size:inherit",
  "font:0 serif",
  "font:italic 1px/2 serif",
  "font:bold 12px serif",
  "font:caption",
  "visibility:hidden",
  "visibility:collapse",
  "visibility:visible",
  "color:transparent",
  "color:rgba(0,0,0,0.049)",
  "color:rgba(0,0,0,0.05)",
  "color:rgb(0 0 0 / 0)",
  "color:white;background:#fff",
  "color:black;background-color:#000000",
  "color:red;background:rgb(255, 0, 0)",
  "color:yellow;background:#ff0",
  "color:#abc;background:#aabbcc",
  "color:#abc;background:#aabbcd",
  "color:white;background:url(x.png)",
  "color:blue;background:blue",
  "-webkit-text-fill-color:transparent;color:black",
  "background:white;background-color:black;color:white",
  "display : NONE ! important",
  "dis/* a */play:no/* b */ne",
  "\\64 isplay:none",
  "d\\isplay:none",
  "\\0display:none",
  "\\110000 display:none",
  "display",
  ":none",
  `${"a:b;".repeat(2_497)}display:none`,
  `${"a:b;".repeat(2_500)}display:none`,
];

test("which style attribute hides the text of its element, at each property's limit", async () => {
  await expect(
    answerTable(styles, (style) => (showsText(look([style])) ? "seen" : "hidden")).replaceAll(
      /(?:a:b;){20,}/g,
      (run) => `a:b; x ${run.length / 4} `,
    ),
  ).toMatchFileSnapshot("tables/styles.txt");
});

test("what an element inherits of a look, and what it can take back", async () => {
  const nested: readonly (readonly string[])[] = [
    ["display:none", "display:block"],
    ["opacity:0", "opacity:1"],
    ["visibility:hidden", "visibility:visible"],
    ["visibility:hidden", "color:black"],
    ["font-size:0", "font-size:12px"],
    ["font-size:0", "font-size:2em"],
    ["font-size:0", "font-size:100%"],
    ["font-size:0", "font-size:2rem"],
    ["font-size:0", "font-size:3ex"],
    ["font-size:0", "font-size:3ch"],
    ["font-size:0", "font-size:larger"],
    ["font-size:0", "font-size:inherit"],
    ["font-size:0", "font-size:medium"],
    ["font-size:12px", "font-size:2em"],
    ["color:transparent", "color:black"],
    ["color:transparent", "color:unknown"],
    ["background:#000", "color:black"],
    ["background:#000", "color:black", "background:white"],
    ["color:black;background:#000", "color:white", ""],
  ];
  await expect(
    answerTable(nested, (each) => ({ ...look(each), seen: showsText(look(each)) })),
  ).toMatchFileSnapshot("tables/inherited-styles.txt");
});

test("which rules of a sheet apply to an element, and in which order they count", async () => {
  const main = element("main", { id: "top", classes: new Set(["page"]) });
  const list = element("ul", { classes: new Set(["menu", "wide"]), parent: main });
  const item = element("li", { id: "one", classes: new Set(["x", "y"]), parent: list });
  const sheets: readonly (readonly string[])[] = [
    ["li{color:red}"],
    ["LI{color:red}"],
    [".x{color:red}", ".y{color:blue}"],
    [".y{color:blue}", ".x{color:red}"],
    ["#one{color:red} .x{color:blue} li{color:green}"],
    ["p,.x.y,b{color:red}"],
    [".x.z{color:red}"],
    ["li.x#one{color:red}"],
    ["ul li{color:red}"],
    ["main li{color:red}"],
    ["#top>.menu>.x{color:red}"],
    [".menu .page li{color:red}"],
    ["p li{color:red}"],
    ["a b c d e f g h li{color:red}"],
    ["main ul li:hover{color:red}"],
    ["ul + li{color:red}", "ul ~ li{color:red}", "[id]{color:red}", "*{color:red}"],
    ["li{border:1px}"],
    ["li{color:red;border:1px}"],
    ["/* li{color:red} */ li{color:blue}"],
    ["<!-- li{color:blue} -->"],
    ["@import 'a.css'; li{color:red}"],
    ["@media print{li{color:red}} li{color:blue}"],
    ["@media screen{li{color:red}}"],
    ["@media all {li{color:red}}"],
    ["@media (max-width:9px){li{color:red}}"],
    ["@supports (display:grid){li{color:red}}"],
    ["@layer base{li{color:red}}"],
    ["@container (width>1px){li{color:red}}"],
    ["@keyframes k{from{color:red}to{color:blue}} li{color:green}"],
    ["@font-face{font-family:x} li{color:green}"],
    [".menu{color:red;li{color:blue}}"],
    [".menu{li{color:blue}color:red}"],
    ["li{color:red"],
    ["li color:red}"],
    [`${".q{color:red}".repeat(1_999)}li{color:red}`],
    [`${".q{color:red}".repeat(2_000)}li{color:red}`],
  ];
  const table = answerTable(sheets, (each) => [...stylesOf(styleRules(each), item, undefined)]);
  await expect(
    table.replaceAll(/(?:\.q\{color:red\}){20,}/g, (run) => `.q{color:red} x ${run.length / 13} `),
  ).toMatchFileSnapshot("tables/style-rules.txt");
  expect([...stylesOf(styleRules([".x{color:red;font-size:1px}"]), item, "color:blue")]).toEqual([
    ["color", "blue"],
    ["font-size", "1px"],
  ]);
});

test("what is left of a page's HTML, with its base, its length and whether it was cut", async () => {
  const pages: readonly string[] = [
    "words & <b>more</b> &lt;b&gt;",
    "<html><head><title>T</title><meta name=a content='\"x\"'></head><body class=b>t</body></html>",
    "<p>a<title>late</title>b</p>",
    "<base href=/a/><base href=/b/>x",
    ..."script style noscript template svg iframe frame object embed applet canvas audio video map select datalist textarea button progress meter portal"
      .split(" ")
      .map((tag) => `a<${tag}>inside</${tag}>b`),
    "a<input value=x><link href=x><param name=x><source src=x><track src=x>b",
    "<area><br><col><hr><img src=a.png alt=A><wbr>",
    "<img src='data:image/png;base64,AA' alt=A><a href='data:x'>d</a>",
    `<p ${"class id itemprop itemscope itemtype rel role property name content href src alt title datetime lang dir start colspan scope data-lang data-language onclick style data-x aria-label"
      .split(" ")
      .map((name) => `${name}=1`)
      .join(" ")}>t</p>`,
    "<p hidden>a</p><p inert>b</p><p aria-hidden=' TRUE '>c</p><p aria-hidden=false>d</p>",
    "<dialog>a</dialog><dialog open>b</dialog>",
    ..."sr-only visually-hidden visuallyhidden screen-reader screen-reader-text hidden-visually element-invisible sr-only-not hidden"
      .split(" ")
      .map((name) => `<i class="a ${name} b">x</i>`),
    "<pre>a<br>b</pre>c<br>d",
    "<pre>a<pre>b</pre><br></pre><br>",
    '<script type="application/ld+json">{"a":"<b>"}</script><script type="text/javascript">x</script>y',
    "<x_y>odd</x_y><my-tag>fine</my-tag>",
    "<div style='display:none'>a<b>b</b></div>c",
    "<body style='display:none'>shown all the same</body>",
    "<p class=h>a</p><style>.h{display:none}</style>",
    "<p>a</p><style>@media print{@media screen{p{display:none}}}</style>",
    "<p>a</p><style>@media print{i{}}@media screen{p{display:none}}</style>",
    "<p class=h>a</p><style media=print>.h{display:none}</style>",
    "<i><b>",
  ];
  await expect(answerTable(pages, (page) => visibleHtml(page))).toMatchFileSnapshot(
    "tables/visible-html.txt",
  );
  const limits = { depth: 3, elements: 4 };
  const sizes = [
    "<i><i><i>x",
    "<i><i><i><i>x",
    "<i>1</i><i>2</i><i>3</i><i>4</i>",
    "<i>1</i><i>2</i><i>3</i><i>4</i><i>5</i>6",
    "<style>a{}</style><i><i><i><i>x",
  ];
  await expect(answerTable(sizes, (page) => visibleHtml(page, limits))).toMatchFileSnapshot(
    "tables/html-limits.txt",
  );
});

test("what a page's elements are in Markdown", async () => {
  const bodies: readonly string[] = [
    "<h1>One</h1><h6>Six</h6>",
    "<del>a</del> <s>b</s> <s> </s>",
    "<img src=a.png alt='[x]  y'> <img src=a.png> <img alt=alone>",
    "<a href=b>rel</a> <a href='mailto:a@b.test'>mail</a> <a href='ftp://a.test/'>ftp</a> <a href='http://['>bad</a>",
    "<pre>\n\nx  \n</pre>",
    "<pre class='brush: js'>x</pre>",
    "<pre class='highlight-ruby'>x</pre>",
    "<pre class='lang-c++'>x</pre>",
    "<pre data-lang='go'>x</pre>",
    "<pre data-language='c#'>x</pre>",
    "<pre data-lang='not a name' class='language-py'>x</pre>",
    "<pre class='language-a'><code class='language-b'>x</code></pre>",
    "<div class='language-out'><div><pre>x</pre></div></div>",
    "<div class='language-far'><div><div><pre>x</pre></div></div></div>",
    "<pre>a ```` b</pre>",
    "<table><tr><th>a</th><th>b</th></tr><tr><td>1|2</td><td>3</td></tr></table>",
    "<table><caption>Cap</caption><tr><td colspan=3>a</td></tr><tr><td>1</td><td>2</td><td>3</td></tr></table>",
    "<table><tr><td colspan=0>a</td><td colspan=x>b</td><td colspan=-1>c</td></tr></table>",
    "<table><tr><td colspan=21>a</td><td>b</td></tr></table>",
    "<table><tr><td>alone</td></tr><tr><td>and alone</td></tr></table>",
    "<table role=none><tr><td>a</td><td>b</td></tr></table>",
    "<table><tr><td>a<table><tr><td>in</td><td>ner</td></tr></table></td><td>b</td></tr></table>",
    "<ol start=3><li>c<li>d</ol><ul><li>e</ul>",
    "<blockquote>q</blockquote><hr><p>a<br>b</p>",
  ];
  const table = await laterAnswerTable(bodies, async (body) => readHtml(body, "https://docs.test/guide/x"));
  await expect(table).toMatchFileSnapshot("tables/markdown.txt");
});

test("how a page's bytes become text, by their mark, their header and their own word", async () => {
  const bytes = (text: string) => [...Buffer.from(text, "latin1")];
  const meta = (name: string, before = 0): number[] =>
    bytes(`${" ".repeat(before)}<meta charset="${name}">\xe9`);
  const rows: readonly (readonly [contentType: string, bytes: readonly number[]])[] = [
    ["text/html", [0xc3, 0xa9]],
    ["text/html; charset=latin1", [0xe9]],
    ["text/html; CHARSET = 'windows-1251'", [0xe9]],
    ["text/html; charset=nobody-knows", [0xc3, 0xa9]],
    ["text/html; charset=latin1", [0xef, 0xbb, 0xbf, 0xc3, 0xa9]],
    ["text/html; charset=latin1", [0xef, 0xbb, 0x41]],
    ["text/html; charset=latin1", [0xef, 0x41, 0xbf]],
    ["text/html; charset=latin1", [0xfe, 0x41]],
    ["text/html; charset=latin1", [0xff, 0x41]],
    ["text/html; charset=latin1", [0xfe, 0xff, 0x00, 0xe9]],
    ["text/html; charset=latin1", [0xff, 0xfe, 0xe9, 0x00]],
    ["text/html", meta("latin1")],
    ["text/html; charset=windows-1251", meta("latin1")],
    ["text/html", meta("utf-16le")],
    ["text/html", meta("UTF-16BE")],
    ["TEXT/HTML; Charset=ISO_8859-5:1988; x=y", [0xe9]],
    ["text/html", bytes("<META CHARSET=ISO_8859-5:1988>\xe9")],
    ["text/xml", bytes("<?XML version='1.0' ENCODING = \"ISO_8859-5:1988\"?>\xe9")],
    ["text/html", bytes('<meta http-equiv=x content="text/html; charset=koi8-r">\xe9')],
    ["text/xml", bytes("<?xml version='1.0' encoding='windows-1251'?>\xe9")],
    ["text/xml", bytes(" <?xml version='1.0' encoding='windows-1251'?>\xe9")],
  ];
  await expect(
    answerTable(rows, ([type, data]) => decodedText(Uint8Array.from(data), type)),
  ).toMatchFileSnapshot("tables/charsets.txt");
  // The standard looks at the first 1,024 bytes.
  const name = '<meta charset="latin1"'.length;
  expect(decodedText(Uint8Array.from(meta("latin1", 1_024 - name)), "").at(-1)).toBe("é");
  expect(decodedText(Uint8Array.from(meta("latin1", 1_024 - name + 8)), "").at(-1)).toBe("\ufffd");
});

test("which unseen characters leave a text, and which lines are pressed together", () => {
  const rows = [
    ["a\r\nb\rc", "a\nb\nc"],
    ["a \t\nb", "a\nb"],
    ["a\n\nb\n\n\nc\n\n\n\n\nd", "a\n\nb\n\nc\n\nd"],
    [" \n a \n ", "a"],
    ["a\u200bb\u202ec\u{e0041}d\u00ade\u0007f", "abcdef"],
    ["a\u200cb\u200dc\ufe0fd\te", "a\u200cb\u200dc\ufe0fd\te"],
    ["a\u200eb\ufe0ec\u2060d\ufeffe", "abcde"],
  ];
  expect(rows.map(([text = ""]) => plainText(text))).toEqual(rows.map(([, shown]) => shown));
});
