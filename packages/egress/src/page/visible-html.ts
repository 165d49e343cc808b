// The first pass over a page takes away what nobody sees and what no reader needs, and writes the rest as
// well-formed HTML. It walks the text once without a tree, so that a page made to break parsers is measured
// before one of them sees it (I9).
import { Parser } from "htmlparser2";
import {
  lookWith,
  plainLook,
  showsText,
  styleRules,
  stylesOf,
  type Look,
  type Styled,
} from "./style-rules.ts";
import { Unreadable } from "./unreadable.ts";

export interface HtmlLimits {
  /** Readability takes 13 s for 1,200 nested elements, 0.6 s for 200. */
  readonly depth: number;
  readonly elements: number;
}

const htmlLimits: HtmlLimits = { depth: 200, elements: 30_000 };

export interface VisibleHtml {
  readonly html: string;
  /** Of a base element. */
  readonly base: string | null;
  readonly textChars: number;
  /** True when elements were left out at the limit. */
  readonly cut: boolean;
}

const dropped = new Set(
  "script style noscript template svg iframe frame object embed applet canvas audio video map select datalist input textarea button progress meter portal link param source track".split(
    " ",
  ),
);
/** Written anew, so that every page has one of each. */
const frames = new Set(["html", "head", "body"]);
/** Of the head, wherever they stand. */
const ofHead = new Set(["title", "meta", "script"]);
const empty = new Set(["area", "base", "br", "col", "hr", "img", "meta", "wbr"]);
const kept = new Set(
  "class id itemprop itemscope itemtype rel role property name content href src alt title datetime lang dir start colspan scope data-lang data-language".split(
    " ",
  ),
);
/** Class names by which frameworks move text off the screen for screen readers. */
const offScreen =
  /(^|\s)(sr-only|visually-?hidden|screen-reader(-text)?|hidden-visually|element-invisible)(\s|$)/;

interface Open extends Styled {
  readonly look: Look;
  readonly written: boolean;
  readonly parent: Open | null;
}

/** Throws Unreadable when elements are nested too deep. */
export function visibleHtml(source: string, limits: HtmlLimits = htmlLimits): VisibleHtml {
  const rules = styleRules(sheetsOf(source, limits));
  const head: string[] = [];
  const body: string[] = [];
  let out = body;
  const stack: Open[] = [];
  let base: string | null = null;
  let textChars = 0;
  let elements = 0;
  let preformatted = 0;
  let linkedFacts = false;

  const parser = new Parser({
    onopentag(tag, attributes) {
      const parent = stack.at(-1) ?? null;
      elements += 1;
      if (stack.length >= limits.depth) throw tooDeep(limits);
      const element: Styled = {
        tag,
        id: attributes["id"] ?? "",
        classes: new Set((attributes["class"] ?? "").split(/\s+/).filter(Boolean).slice(0, 50)),
        parent,
      };
      const inherited = parent?.look ?? plainLook;
      const styled = lookWith(inherited, stylesOf(rules, element, attributes["style"]));
      // Pages hide their whole body until a script has run.
      const look = tag === "html" || tag === "body" ? plainLook : styled;
      const isFacts = tag === "script" && /^application\/ld\+json/i.test(attributes["type"] ?? "");
      const gone =
        look.gone ||
        (dropped.has(tag) && !isFacts) ||
        isHidden(tag, attributes) ||
        elements > limits.elements;
      const written = !gone && tag !== "base" && !frames.has(tag);
      stack.push({ ...element, parent, look: gone ? { ...look, gone: true } : look, written });
      if (tag === "base") base ??= attributes["href"] ?? null;
      if (!written) return;
      if (ofHead.has(tag)) out = head;
      if (tag === "pre") preformatted += 1;
      if (isFacts) linkedFacts = true;
      if (tag === "br" && preformatted > 0) out.push("\n");
      else out.push(isFacts ? '<script type="application/ld+json">' : opening(tag, attributes));
    },
    ontext(text) {
      const within = stack.at(-1);
      if (linkedFacts) return void out.push(text);
      if (within !== undefined && !showsText(within.look)) return;
      textChars += text.length;
      out.push(escaped(text));
    },
    onclosetag() {
      const closed = stack.pop();
      if (closed?.written !== true) return;
      if (closed.tag === "pre") preformatted -= 1;
      if (closed.tag === "script") linkedFacts = false;
      if (!empty.has(closed.tag)) out.push(`</${nameOf(closed.tag)}>`);
      if (ofHead.has(closed.tag)) out = body;
    },
  });
  parser.write(source);
  parser.end();
  const html = `<!doctype html><html><head>${head.join("")}</head><body>${body.join("")}</body></html>`;
  return { html, base, textChars, cut: elements > limits.elements };
}

const tooDeep = (limits: HtmlLimits): Unreadable =>
  new Unreadable(`its HTML is nested more than ${limits.depth} deep`);

function isHidden(tag: string, attributes: Readonly<Record<string, string>>): boolean {
  return (
    "hidden" in attributes ||
    "inert" in attributes ||
    attributes["aria-hidden"]?.trim().toLowerCase() === "true" ||
    (tag === "dialog" && !("open" in attributes)) ||
    offScreen.test(attributes["class"] ?? "")
  );
}

/** Names are letters alone in what is written again: others could end a tag early in another parser. */
const nameOf = (tag: string): string => (/^[a-z][a-z0-9-]*$/.test(tag) ? tag : "span");

function opening(tag: string, attributes: Readonly<Record<string, string>>): string {
  const written = Object.entries(attributes).flatMap(([key, value]) =>
    kept.has(key) && !(key === "src" && value.startsWith("data:"))
      ? [` ${key}="${escaped(value).replaceAll('"', "&quot;")}"`]
      : [],
  );
  return `<${nameOf(tag)}${written.join("")}>`;
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Style elements may stand behind what they hide, so they are read first. */
function sheetsOf(source: string, limits: HtmlLimits): string[] {
  const sheets: string[] = [];
  let depth = 0;
  let within = false;
  const parser = new Parser({
    onopentag(tag, attributes) {
      depth += 1;
      if (depth > limits.depth) throw tooDeep(limits);
      within = tag === "style" && !/print/i.test(attributes["media"] ?? "");
      if (within) sheets.push("");
    },
    ontext(text) {
      if (within) sheets.push((sheets.pop() ?? "") + text);
    },
    onclosetag() {
      depth -= 1;
      within = false;
    },
  });
  if (/<style/i.test(source)) {
    parser.write(source);
    parser.end();
  }
  return sheets;
}
