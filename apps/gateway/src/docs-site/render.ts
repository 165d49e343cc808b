// Renders a page of docs/ from Markdown: headings get an id, links between pages lose their ".md", and links
// that lead out of the folder become plain text, because nothing is served there.
import { posix } from "node:path";
import MarkdownIt, { type Token } from "markdown-it";

interface Section {
  /** Empty for what stands before the first heading below the title. */
  readonly heading: string;
  /** Where in the page it stands; empty at its top. */
  readonly id: string;
  /** Without markup. */
  readonly text: string;
}

export interface DocsPage {
  readonly title: string;
  readonly html: string;
  readonly sections: readonly Section[];
}

const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });

/** `name`: the path below docs/, with "/" between. */
export function renderPage(name: string, source: string): DocsPage {
  const tokens = markdown.parse(source, {});
  const used = new Map<string, number>();
  const sections: { heading: string; id: string; text: string }[] = [{ heading: "", id: "", text: "" }];
  let title = "";
  for (const [at, token] of tokens.entries()) {
    const text = token.type === "inline" ? plainText(token.children ?? []) : token.content;
    const opened = tokens[at - 1];
    if (opened?.type === "heading_open") {
      const id = headingId(text, used);
      opened.attrSet("id", id);
      if (opened.tag === "h1" && title === "") title = text;
      else sections.push({ heading: text, id, text: "" });
    } else if (text !== "") {
      const last = sections.at(-1);
      if (last !== undefined) last.text += `${text}\n`;
    }
    for (const [index, child] of (token.children ?? []).entries())
      if (child.type === "link_open") point(name, child, token.children?.slice(index) ?? []);
  }
  return {
    title: title === "" ? name : title,
    html: markdown.renderer.render(tokens, markdown.options, {}),
    sections,
  };
}

export function escapeHtml(text: string): string {
  return markdown.utils.escapeHtml(text);
}

function plainText(tokens: readonly Token[]): string {
  return tokens
    .map(({ type, content }) => (type === "softbreak" || type === "hardbreak" ? " " : content))
    .join("");
}

/** As GitHub makes it, so that a link works in both places. */
function headingId(heading: string, used: Map<string, number>): string {
  const base = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
  const times = used.get(base) ?? 0;
  used.set(base, times + 1);
  return times === 0 ? base : `${base}-${times}`;
}

/** Points a link to where its page is served. */
function point(name: string, link: Token, following: readonly Token[]): void {
  const href = String(link.attrGet("href") ?? "");
  if (/^(?:https?:|mailto:|#)/.test(href)) return;
  const [path = "", fragment] = href.split("#");
  const target = posix.normalize(posix.join(posix.dirname(name), path));
  if (target.startsWith("../")) {
    const close = following.find(({ type }) => type === "link_close");
    for (const end of [link, close])
      if (end !== undefined) Object.assign(end, { type: "text", tag: "", nesting: 0 });
    return;
  }
  const served = path.replace(/(^|\/)README\.md$/, "$1./").replace(/\.md$/, "");
  link.attrSet("href", fragment === undefined ? served : `${served}#${fragment}`);
}
