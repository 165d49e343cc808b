// Draws the frame of a page of docs: a line with the way home and a search, then the page itself. Without
// scripts, in the reader's own theme.
import { escapeHtml } from "./render.ts";
import type { Found } from "./search.ts";

export interface Frame {
  /** From the page to /docs/: "" or "../". */
  readonly up: string;
  readonly query?: string;
}

export function layout(title: string, body: string, { up, query = "" }: Frame): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - Parley</title>
<link rel="stylesheet" href="${up}style.css">
</head>
<body>
<header>
<a href="${up}./">Parley docs</a>
<form action="${up}./" method="get" role="search">
<label for="q">Search</label>
<input id="q" type="search" name="q" value="${escapeHtml(query)}" maxlength="200">
<button>Go</button>
</form>
</header>
<main>
${body}</main>
</body>
</html>
`;
}

export function listOf(query: string, found: readonly Found[]): string {
  const heading = `<h1>${escapeHtml(query)}</h1>\n`;
  if (found.length === 0) return `${heading}<p>No page has all of these words.</p>\n`;
  const items = found.map(({ page, title, heading: section, id, excerpt }) => {
    const to = `${page === "README.md" ? "./" : page.replace(/\.md$/, "")}${id === "" ? "" : `#${id}`}`;
    const name = section === "" ? title : `${title}: ${section}`;
    return `<li><a href="${escapeHtml(encodeURI(to))}">${escapeHtml(name)}</a><p>${escapeHtml(excerpt)}</p></li>\n`;
  });
  return `${heading}<ol class="found">\n${items.join("")}</ol>\n`;
}

export const style = `:root { color-scheme: light dark; --line: light-dark(#d8dce3, #363b45); --soft: light-dark(#f3f5f8, #1c2027);
  --link: light-dark(#0b57b7, #8ab8ff); --text: light-dark(#1b1f26, #e4e7ec); --page: light-dark(#fff, #14171c); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.6 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: center; justify-content: space-between;
  padding: 0.75rem 1.25rem; border-bottom: 1px solid var(--line); }
header > a { font-weight: 650; text-decoration: none; color: inherit; }
form { display: flex; gap: 0.5rem; align-items: center; }
input, button { font: inherit; padding: 0.25rem 0.6rem; border: 1px solid var(--line); border-radius: 6px;
  background: var(--soft); color: inherit; min-height: 2rem; }
input { width: min(16rem, 50vw); }
main { max-width: 52rem; margin: 0 auto; padding: 1.5rem 1.25rem 5rem; overflow-wrap: anywhere; }
a { color: var(--link); }
h1, h2, h3 { line-height: 1.25; margin: 2em 0 0.6em; scroll-margin-top: 1rem; }
h1 { margin-top: 0.4em; }
pre, table { display: block; max-width: 100%; overflow-x: auto; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 8px; padding: 0.8rem 1rem; }
code { font: 0.9em/1.5 ui-monospace, monospace; background: var(--soft); border-radius: 4px; padding: 0.1em 0.3em; }
pre code { padding: 0; background: none; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); padding: 0.4rem 0.9rem 0.4rem 0; min-width: 7rem; }
img { max-width: 100%; border: 1px solid var(--line); border-radius: 8px; }
.found p { margin: 0.1rem 0 1rem; color: light-dark(#545b68, #a5adba); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
`;
