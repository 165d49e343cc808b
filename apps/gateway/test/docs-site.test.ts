// The documentation as a site: every page and link of docs/ holds, nothing in a page or a query becomes markup,
// and no path leaves the folder.
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
