// Serves docs/ as a small site at /docs: pages rendered when they are asked for, and a search over all of
// them. They say the same to everybody, so no token is needed, and nothing in them runs.
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import type { Context } from "hono";
import type { DocsPage } from "./render.ts";

/** Of docs/ and docs/decisions: a name without a leading dot, so that no path leaves the folder. */
const servedName = /^(?:decisions\/)?[A-Za-z0-9][A-Za-z0-9._-]*$/;
const fileTypes: { readonly [extension: string]: string } = {
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};
const headers: { readonly [name: string]: string } = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "cache-control": "no-cache",
};
const mostQueryChars = 200;

interface Kept {
  readonly mark: string;
  readonly page: DocsPage;
}

/** `folder`: null where the program has no docs beside it. */
export function docsSite(folder: string | null): (context: Context) => Promise<Response> {
  const kept = new Map<string, Kept>();

  /** Null where there is no such page. */
  async function pageAt(name: string): Promise<DocsPage | null> {
    const path = join(folder ?? "", name);
    const file = await stat(path).catch(() => null);
    if (file === null || !file.isFile()) return null;
    const mark = `${file.mtimeMs} ${file.size}`;
    const known = kept.get(name);
    if (known?.mark === mark) return known.page;
    // What renders is loaded with the first page that somebody reads.
    const { renderPage } = await import("./render.ts");
    const page = renderPage(name, await readFile(path, "utf8"));
    kept.set(name, { mark, page });
    return page;
  }

  async function allPages(): Promise<ReadonlyMap<string, DocsPage>> {
    const pages = new Map<string, DocsPage>();
    for (const name of await pageNames(folder ?? "")) {
      const page = await pageAt(name);
      if (page !== null) pages.set(name, page);
    }
    return pages;
  }

  return async (context) => {
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    if (folder === null) return context.text("there are no docs beside this program\n", 404);
    // Relative, because a proxy may serve the gateway below a path.
    if (context.req.path === "/docs") return context.body(null, 308, { location: "docs/" });
    const name = context.req.path.slice("/docs/".length);
    const query = context.req.query("q")?.slice(0, mostQueryChars);
    const { layout, listOf, style } = await import("./layout.ts");
    if (name === "style.css") return context.body(style, 200, { "content-type": "text/css; charset=utf-8" });
    if (name !== "" && !servedName.test(name)) return context.text("not found\n", 404);
    const type = fileTypes[extname(name)];
    if (type !== undefined) {
      const bytes = await readFile(join(folder, name)).catch(() => null);
      return bytes === null
        ? context.text("not found\n", 404)
        : context.body(bytes, 200, { "content-type": type });
    }
    const file = name === "" ? "README.md" : `${name.replace(/\.md$/, "")}.md`;
    const page = await pageAt(file);
    if (page === null) return context.text("not found\n", 404);
    const up = name.includes("/") ? "../" : "";
    if (query === undefined || query.trim() === "")
      return context.html(layout(page.title, page.html, { up }));
    const { searchPages } = await import("./search.ts");
    const found = searchPages(await allPages(), query);
    return context.html(layout(`Search: ${query}`, listOf(query, found), { up, query }));
  };
}

/** Every page, those of docs/ before the decisions. */
async function pageNames(folder: string): Promise<readonly string[]> {
  const in_ = async (below: string): Promise<readonly string[]> =>
    (await readdir(join(folder, below)).catch(() => []))
      .filter((name) => name.endsWith(".md") && servedName.test(name))
      .toSorted()
      .map((name) => `${below}${name}`);
  return [...(await in_("")), ...(await in_("decisions/"))];
}
