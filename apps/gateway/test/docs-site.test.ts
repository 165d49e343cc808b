// The documentation as a site: every page and link of docs/ holds, nothing in a page or a query becomes
// markup, and no path leaves the folder.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { docsSite } from "../src/docs-site/pages.ts";

const docs = fileURLToPath(new URL("../../../docs/", import.meta.url));

function site(folder: string | null): (path: string) => Promise<Response> {
  const serve = docsSite(folder);
  const app = new Hono();
  app.get("/docs", serve);
  app.get("/docs/*", serve);
  return async (path) => app.request(path);
}

function folderOf(files: { readonly [name: string]: string }): string {
  const root = mkdtempSync(join(tmpdir(), "parley-docs-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "docs", "decisions"), { recursive: true });
  writeFileSync(join(root, "secret.md"), "# secret");
  for (const [name, text] of Object.entries({ "README.md": "# Home", ...files }))
    writeFileSync(join(root, "docs", name), text);
  return join(root, "docs");
}

test("every page is served, is reached from the first one, and all of its links lead somewhere", async () => {
  const get = site(docs);
  const ids = new Map<string, ReadonlySet<string>>();
  const links: { readonly from: string; readonly to: URL }[] = [];
  const names = ["", "decisions/"].flatMap((below) =>
    readdirSync(join(docs, below))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${below}${name.replace(/\.md$/, "")}`),
  );
  for (const name of names) {
    const path = `/docs/${name === "README" ? "" : name}`;
    const answer = await get(path);
    expect([name, answer.status]).toEqual([name, 200]);
    const html = await answer.text();
    ids.set(path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? "")));
    for (const [, to] of html.matchAll(/(?:href|src)="([^"]+)"/g))
      if (to !== undefined && !/^(?:https?|mailto):/.test(to))
        links.push({ from: path, to: new URL(to, `http://docs${path}`) });
  }
  const dead = [];
  for (const { from, to } of links) {
    const known = ids.get(to.pathname);
    const there = known === undefined ? (await get(to.pathname)).status === 200 : true;
    if (!there || (to.hash !== "" && known?.has(decodeURIComponent(to.hash.slice(1))) !== true))
      dead.push(`${from} -> ${to.pathname}${to.hash}`);
  }
  expect(dead).toEqual([]);
  const first = new Set(links.filter(({ from }) => from === "/docs/").map(({ to }) => to.pathname));
  expect(
    names.filter((name) => !name.includes("/") && name !== "README" && !first.has(`/docs/${name}`)),
  ).toEqual([]);
});

test("text stays text, in a page, in what is found and in what was asked", async () => {
  const hostile = `<script>alert(1)</script><img src=x onerror=alert(1)>`;
  const get = site(
    folderOf({
      "page.md": `# T ${hostile}\n\n## H ${hostile}\n\nword ${hostile} [x](javascript:alert(1))\n`,
    }),
  );
  for (const path of ["/docs/page", "/docs/?q=word", `/docs/?q=${encodeURIComponent(`word"> ${hostile}`)}`]) {
    const answer = await get(path);
    const html = await answer.text();
    expect(html).not.toMatch(/<script|<img|href="javascript/i);
    expect(html).toContain("alert(1)");
    expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'self';/);
    expect(answer.headers.get("content-security-policy")).not.toContain("unsafe");
  }
});

test("search finds sections with all words, those that name them first, and leads to their place", async () => {
  const get = site(
    folderOf({
      "tea.md": "# Tea\n\nHot water.\n\n## Green tea\n\nSteep it for two minutes.\n",
      "coffee.md": "# Coffee\n\nNot tea. Two minutes too.\n",
      "decisions/0001-cups.md": "# Cups\n\nFor tea.\n",
    }),
  );
  const found = async (query: string): Promise<readonly string[]> => {
    const html = await (await get(`/docs/?q=${encodeURIComponent(query)}`)).text();
    return [...html.matchAll(/<li><a href="([^"]+)"/g)].map(([, to]) => to ?? "");
  };
  expect(await found("GREEN tea")).toEqual(["tea#green-tea"]);
  expect(await found("tea minutes")).toEqual(["tea#green-tea", "coffee"]);
  expect(await found("cups")).toEqual(["decisions/0001-cups"]);
  expect(await found("tea unheard")).toEqual([]);
  expect(await found("***")).toEqual([]);
  expect(await (await get("/docs/?q=unheard")).text()).toContain("No page has all of these words.");
});

test("links between pages work where they are served, and those that lead out are text", async () => {
  const get = site(
    folderOf({
      "a.md":
        "# A\n\n[b](b.md#x) [home](README.md) [why](decisions/0001-x.md) [out](../deploy/README.md) [me](#a)",
      "decisions/0001-x.md": "# X\n\n[a](../a.md)",
    }),
  );
  const hrefs = async (path: string): Promise<readonly (string | undefined)[]> => {
    const [, main = ""] = (await (await get(path)).text()).split("<main>");
    return [...main.matchAll(/href="([^"]+)"/g)].map(([, to]) => to);
  };
  expect(await hrefs("/docs/a")).toEqual(["b#x", "./", "decisions/0001-x", "#a"]);
  expect(await hrefs("/docs/a.md")).toEqual(await hrefs("/docs/a"));
  expect(await hrefs("/docs/decisions/0001-x")).toEqual(["../a"]);
  const bare = await get("/docs");
  expect([bare.status, bare.headers.get("location")]).toEqual([308, "docs/"]);
});

test.each([
  "/docs/nope",
  "/docs/..%2fsecret",
  "/docs/%2e%2e/secret",
  "/docs/decisions/..%2f..%2fsecret",
  "/docs/decisions",
  "/docs/.hidden",
  "/docs/nope.png",
  "/docs/a%00",
])("%s is not there", async (path) => {
  const answer = await site(folderOf({ ".hidden.md": "# secret" }))(path);
  expect([answer.status, await answer.text()]).toEqual([404, expect.not.stringContaining("secret")]);
});

test("a changed page is shown as it is now, and without docs there is none", async () => {
  const folder = folderOf({ "a.md": "# One" });
  const get = site(folder);
  expect(await (await get("/docs/a")).text()).toContain(">One<");
  writeFileSync(join(folder, "a.md"), "# Another");
  expect(await (await get("/docs/a")).text()).toContain(">Another<");
  expect((await site(null)("/docs/")).status).toBe(404);
});

test("each file is told as what it is, to be asked for anew, and under the same rules", async () => {
  const get = site(
    folderOf({
      "a.md": "# A",
      "p.png": "png",
      "s.svg": "<svg/>",
      "t.txt": "text",
      "x.json": "{}",
      "decisions/d.md": "# D",
    }),
  );
  const told: { [path: string]: unknown } = {};
  for (const path of ["", "a", "decisions/d", "p.png", "s.svg", "t.txt", "style.css", "x.json"]) {
    const answer = await get(`/docs/${path}`);
    told[path] = [answer.status, answer.headers.get("content-type"), answer.headers.get("cache-control")];
    expect(answer.headers.get("content-security-policy")).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
  }
  const page = [200, "text/html; charset=UTF-8", "no-cache"];
  expect(told).toEqual({
    "": page,
    a: page,
    "decisions/d": page,
    "p.png": [200, "image/png", "no-cache"],
    "s.svg": [200, "image/svg+xml", "no-cache"],
    "t.txt": [200, "text/plain; charset=utf-8", "no-cache"],
    "style.css": [200, "text/css; charset=utf-8", "no-cache"],
    "x.json": [404, "text/plain; charset=UTF-8", "no-cache"],
  });
});

test("the frame names the page, leads home from wherever it is, and keeps what was asked", async () => {
  const get = site(
    folderOf({
      "a.md": "## Before\n\n# First *title* &\nword\n\n# Second\n",
      "none.md": "no title",
      "decisions/d.md": "# D",
    }),
  );
  const frame = async (path: string) => {
    const html = await (await get(`/docs/${path}`)).text();
    const found = (pattern: RegExp) => pattern.exec(html)?.[1];
    return [
      found(/<title>(.*)<\/title>/),
      found(/<link rel="stylesheet" href="(.*?)">/),
      found(/<header>\s*<a href="(.*?)">/),
      found(/<form action="(.*?)"/),
      found(/name="q" value="(.*?)"/),
    ];
  };
  expect(await frame("a")).toEqual(["First title &amp; - Parley", "style.css", "./", "./", ""]);
  expect(await frame("none")).toEqual(["none.md - Parley", "style.css", "./", "./", ""]);
  expect(await frame("decisions/d")).toEqual(["D - Parley", "../style.css", ".././", ".././", ""]);
  expect(await frame("?q=%20")).toEqual(["Home - Parley", "style.css", "./", "./", ""]);
  expect(await frame("?q=a%22b")).toEqual(["Search: a&quot;b - Parley", "style.css", "./", "./", "a&quot;b"]);
  const long = "x".repeat(200);
  expect((await frame(`?q=${long}yz`))[4]).toBe(long);
});

test("headings of the same words have places of their own, and a link to somewhere else stays", async () => {
  const get = site(
    folderOf({
      "a.md":
        "# A\n\n## Why it is, so_far?\n\n## Why it is so_far\n\n### Why it is, so_far\n\n[m](mailto:a@b.c) [w](http://x.y/z.md) [r](./README.md#top) [q](decisions/README.md)",
    }),
  );
  const html = await (await get("/docs/a")).text();
  expect([...html.matchAll(/<h\d id="(.*?)"/g)].map(([, id]) => id)).toEqual([
    "a",
    "why-it-is-so_far",
    "why-it-is-so_far-1",
    "why-it-is-so_far-2",
  ]);
  const [, main = ""] = html.split("<main>");
  expect([...main.matchAll(/href="([^"]+)"/g)].map(([, to]) => to)).toEqual([
    "mailto:a@b.c",
    "http://x.y/z.md",
    "././#top",
    "decisions/./",
  ]);
});

test("what is found is told with its page and section and the words around, the best first, thirty of them at most", async () => {
  const filler = (words: number): string => Array.from({ length: words }, (_, n) => `w${n}`).join(" ");
  const get = site(
    folderOf({
      "b.md": `# Bee\n\nIt stings\nthe nose.\n\n## Honey\n\n${filler(60)} honey comb ${filler(60)}\n`,
      "c.md": "# Sea\n\n## Shore\n\nhoney and comb\n\n## Comb\n\nof honey\n",
      "decisions/0002-honey.md": "# Comb\n\nhoney\n\n## Other\n\nhoney\n",
    }),
  );
  const found = async (query: string) => {
    const html = await (await get(`/docs/?q=${encodeURIComponent(query)}`)).text();
    return [...html.matchAll(/<li><a href="(.*?)">(.*?)<\/a><p>(.*?)<\/p><\/li>/g)].map((each) =>
      each.slice(1),
    );
  };
  expect(await found("honey comb")).toEqual([
    ["b#honey", "Bee: Honey", expect.stringMatching(/^… .{80}honey comb.{150} …$/)],
    ["c#comb", "Sea: Comb", "of honey"],
    ["decisions/0002-honey", "Comb", "honey"],
    ["decisions/0002-honey#other", "Comb: Other", "honey"],
    ["c#shore", "Sea: Shore", "honey and comb"],
  ]);
  expect(await found("STINGS  the")).toEqual([["b", "Bee", "It stings the nose."]]);
  expect(await found("home")).toEqual([["./", "Home", ""]]);
  const many = site(
    folderOf({ "many.md": Array.from({ length: 40 }, (_, n) => `## Part ${n}\n\nsame\n`).join("\n") }),
  );
  const list = [...(await (await many("/docs/?q=same")).text()).matchAll(/<li>/g)];
  expect(list).toHaveLength(30);
});
