// What the tool canvas takes: a page by its text or its file, with the files that it names.
import { expect, test } from "vitest";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTools } from "../src/index.ts";
import { scopeOf, stage } from "./stage.ts";
import { withAssets } from "../src/canvas-assets.ts";

const reads =
  (files: { readonly [path: string]: string }) =>
  async (path: string): Promise<Uint8Array> => {
    const text = files[path];
    if (text === undefined) throw new Error(`no such file: ${path}`);
    return Buffer.from(text);
  };

test("files that a page names by relative paths come along; everything else stays as it is written", async () => {
  const html =
    `<link rel="stylesheet" href="look.css"><img alt='a' src='../pics/a%20b.png?x=1'><script src="app.js"></script>` +
    `<img src="https://example.org/p.png"><a href="other.html">o</a><img src="//x/y.png"><img src="#i">`;
  const made = await withAssets(
    html,
    "site/index.html",
    reads({ "site/look.css": "b{}", "pics/a b.png": "png", "site/app.js": "1" }),
    10_000,
  );
  expect(made).toContain(`href="data:text/css;base64,${Buffer.from("b{}").toString("base64")}"`);
  expect(made).toContain(`src='data:image/png;base64,${Buffer.from("png").toString("base64")}'`);
  expect(made).toContain(`src="data:text/javascript;base64,MQ=="`);
  for (const kept of ["https://example.org/p.png", `href="other.html"`, `"//x/y.png"`, `"#i"`])
    expect(made).toContain(kept);
});

test("what cannot come along is named", async () => {
  const page = (src: string, most = 1_000) =>
    withAssets(`<img src="${src}">`, "", reads({ "a.png": "x".repeat(2_000), "b.exe": "" }), most);
  await expect(page("missing.png")).rejects.toThrow("no such file: missing.png");
  await expect(page("b.exe")).rejects.toThrow(/b\.exe is of no kind that a canvas shows/);
  await expect(page("a.png")).rejects.toThrow(/with a\.png the page has more than 1000 bytes/);
});

test("each kind of file comes along under its type, from each tag that shows it, once however often it is named", async () => {
  const read: string[] = [];
  const page = (html: string, path = "", most = 100_000) =>
    withAssets(
      html,
      path,
      async (name) => {
        read.push(name);
        return Buffer.from("x");
      },
      most,
    );
  const kinds = {
    css: "text/css",
    js: "text/javascript",
    mjs: "text/javascript",
    json: "application/json",
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    gif: "image/gif",
    webp: "image/webp",
    avif: "image/avif",
    svg: "image/svg+xml",
    mp3: "audio/mpeg",
    ogg: "audio/ogg",
    wav: "audio/wav",
    mp4: "video/mp4",
    webm: "video/webm",
    woff2: "font/woff2",
  };
  const tag = (name: string): string => `<img src="${name}">`;
  for (const [ending, type] of Object.entries(kinds))
    expect(await page(tag(`a.${ending}`))).toBe(tag(`data:${type};base64,eA==`));
  const png = "data:image/png;base64,eA==";
  expect([
    await page(`<SCRIPT type=x  SRC = "A.PNG" async></SCRIPT>`),
    ...(await Promise.all(
      ["link href", "source src", "audio src", "video src", "image href"].map((each) => {
        const [name = "", attribute = ""] = each.split(" ");
        return page(`<${name} a="b" ${attribute}='a.png#x'/>`);
      }),
    )),
    await page(`<p src="a.png"><imgs src="a.png"><img data-src="a.png"><img src=a.png><img src="">`),
    await page(tag("data:x") + tag("mailto:a.png") + tag("?a.png") + tag("HTTPS://a/b.png")),
    await page(tag("100%.png"), "deep/er/p.html"),
    await page(tag("../a.png") + tag("../a.png") + tag("b.png"), "deep/p.html"),
  ]).toEqual([
    `<SCRIPT type=x  SRC = "${png}" async></SCRIPT>`,
    ...["link href", "source src", "audio src", "video src", "image href"].map((each) => {
      const [name = "", attribute = ""] = each.split(" ");
      return `<${name} a="b" ${attribute}='${png}'/>`;
    }),
    `<p src="a.png"><imgs src="a.png"><img data-src="a.png"><img src=a.png><img src="">`,
    tag("data:x") + tag("mailto:a.png") + tag("?a.png") + tag("HTTPS://a/b.png"),
    tag(png),
    tag(png) + tag(png) + tag(png),
  ]);
  expect(read.slice(-3)).toEqual(["deep/er/100%.png", "a.png", "deep/b.png"]);
  // Fifty files, and as many bytes as the page may have with them.
  const many = (count: number): string =>
    Array.from({ length: count }, (_, nth) => tag(`${nth}.png`)).join("");
  await expect(page(many(50))).resolves.toContain(png);
  await expect(page(many(51))).rejects.toMatchObject({
    code: "invalid",
    message: "a canvas has at most 50 files",
  });
  const most = tag("a.png").length + png.length;
  await expect(page(tag("a.png"), "", most)).resolves.toBe(tag(png));
  await expect(page(tag("a.png"), "", most - 1)).rejects.toMatchObject({
    code: "invalid",
    message: `with a.png the page has more than ${most - 1} bytes: use smaller files`,
  });
  await expect(page(tag("a.exe"))).rejects.toMatchObject({
    code: "invalid",
    message: `a.exe is of no kind that a canvas shows (${Object.keys(kinds)
      .map((each) => `.${each}`)
      .join(" ")})`,
  });
});

test("a page is given once, as text or as a file of the workspace that its people may read", async () => {
  const s = await stage({
    context: {
      notes: {
        refusal: async (_scope, path) => (path === "private.html" ? "private.html is private" : null),
        writing: async () => undefined,
        untrusted: async () => null,
      },
    },
  });
  const tool = makeTools(s.context).tools.find(({ name }) => name === "canvas");
  if (tool === undefined) throw new Error("no canvas");
  await mkdir(join(s.workspace, "site"));
  await writeFile(join(s.workspace, "site", "index.html"), "<p>hello");
  await writeFile(join(s.workspace, "private.html"), "<p>mine");
  const run = async (args: object) => {
    const parsed = tool.parse(args as never);
    if (!parsed.ok) throw new Error(parsed.reason);
    const { content } = await tool.run(parsed.args, scopeOf(s.workspace));
    return content.map((part) => (part.type === "text" ? part.text : "")).join("");
  };
  expect(await run({ action: "present", path: "site/index.html", title: "T" })).toBe("shown: T");
  await expect(run({ action: "present" })).rejects.toThrow(/one of them/);
  await expect(run({ action: "present", html: "<p>", path: "site/index.html" })).rejects.toThrow(/one of/);
  await expect(run({ action: "update", path: "private.html" })).rejects.toThrow("private.html is private");
  await expect(run({ action: "eval", script: "1" })).rejects.toThrow(/there is no browser here/);
  await s.close();
});
