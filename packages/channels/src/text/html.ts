// Renders HTML for the web from a closed list of tags. Markup of the reply cannot pass, because only escaped
// text is taken from it, and addresses that `planLink` allowed.
import type { RenderedText } from "@parley/protocol";
import { isVerbatim, type Document, type MarkKind, type Span } from "./document.ts";
import { walk } from "./walk.ts";

const followed = /^(https?|mailto):/i;
const escapes: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => escapes[character] ?? "");
}

export function renderHtmlMessage(message: Document): RenderedText {
  return { text: htmlOf(message), entities: [], plain: message.text };
}

export function htmlOf(document: Document): string {
  const { spans } = document;
  let out = "";
  /** Counts enclosing spans whose text is shown; text elsewhere is layout for plain surfaces. */
  let showing = 0;
  let muted = 0;
  let verbatim = 0;
  let inBody = false;
  let inHeader = false;

  const tagsOf = (span: Span, index: number): readonly [opening: string, closing: string] => {
    const { mark } = span;
    switch (mark.kind) {
      case "bold":
        return ["<strong>", "</strong>"];
      case "italic":
        return ["<em>", "</em>"];
      case "strike":
        return ["<s>", "</s>"];
      case "spoiler":
        return ['<span class="spoiler">', "</span>"];
      case "code":
        return ["<code>", "</code>"];
      case "math":
        return ['<span class="math">', "</span>"];
      case "formula":
        return ['<div class="math">', "</div>"];
      case "link":
        if (!followed.test(mark.url)) return ["", ""];
        return [
          `<a href="${escapeHtml(mark.url)}" rel="noopener noreferrer nofollow" target="_blank">`,
          "</a>",
        ];
      case "paragraph":
        return mark.tight ? ["", ""] : ["<p>", "</p>"];
      case "heading":
        return [`<h${mark.level}>`, `</h${mark.level}>`];
      case "pre":
        return [
          mark.language === "" ? "<pre><code>" : `<pre><code class="language-${escapeHtml(mark.language)}">`,
          "</code></pre>",
        ];
      case "quote":
        return ["<blockquote>", "</blockquote>"];
      case "list": {
        if (!mark.ordered) return ["<ul>", "</ul>"];
        const first = spans[index + 1]?.mark;
        const number = first?.kind === "item" ? (first.number ?? 1) : 1;
        return [number === 1 ? "<ol>" : `<ol start="${number}">`, "</ol>"];
      }
      case "item":
        return [`<li>${mark.checked === null ? "" : mark.checked ? "☑ " : "☐ "}`, "</li>"];
      case "rule":
        return ["<hr>", ""];
      case "table":
        return ["<table>", "</table>"];
      case "row":
        return mark.header ? ["<thead><tr>", "</tr></thead>"] : ["<tr>", "</tr>"];
      case "cell": {
        const tag = inHeader ? "th" : "td";
        return [mark.align === null ? `<${tag}>` : `<${tag} class="${mark.align}">`, `</${tag}>`];
      }
      case "ornament":
        return ["", ""];
    }
  };
  const closings: string[] = [];

  walk(document, {
    open(span, index) {
      const { mark } = span;
      if (mark.kind === "row") inHeader = mark.header;
      if (mark.kind === "row" && !mark.header && !inBody) {
        out += "<tbody>";
        inBody = true;
      }
      const [opening, closing] = tagsOf(span, index);
      out += opening;
      closings.push(closing);
      if (isShown(span)) showing += 1;
      if (mark.kind === "ornament") muted += 1;
      if (keepsLines(mark.kind)) verbatim += 1;
    },
    text(text) {
      if (showing === 0 || muted > 0) return;
      const escaped = escapeHtml(text);
      out += verbatim > 0 ? escaped : escaped.replaceAll("\n", "<br>");
    },
    close(span) {
      const { mark } = span;
      if (mark.kind === "table" && inBody) {
        out += "</tbody>";
        inBody = false;
      }
      out += closings.pop() ?? "";
      if (isShown(span)) showing -= 1;
      if (mark.kind === "ornament") muted -= 1;
      if (keepsLines(mark.kind)) verbatim -= 1;
    },
  });
  return out;
}

function keepsLines(kind: MarkKind): boolean {
  return isVerbatim(kind) || kind === "formula";
}

function isShown({ mark: { kind } }: Span): boolean {
  return (
    kind === "paragraph" || kind === "heading" || kind === "pre" || kind === "formula" || kind === "cell"
  );
}
