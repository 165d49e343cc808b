// A page of HTML becomes the Markdown of its article, or of its whole body where it has none.
import { visibleHtml, type HtmlLimits } from "./visible-html.ts";
import { markdownOf, type PageElement } from "./markdown.ts";

export interface ReadPage {
  readonly title: string | null;
  readonly byline: string | null;
  readonly text: string;
  readonly cut: boolean;
}

/** Below this share of a short page, what was found is a teaser and not the article. */
const teaserShare = 0.25;
const teaserChars = 1_500;

export const loadReaders = () =>
  Promise.all([import("linkedom"), import("@mozilla/readability"), import("turndown")]);

export async function readHtml(source: string, url: string, limits?: HtmlLimits): Promise<ReadPage> {
  const [{ parseHTML }, { Readability }, { default: Turndown }] = await loadReaders();
  const visible = visibleHtml(source, limits);
  const address = URL.parse(visible.base ?? "", url)?.href ?? url;
  const open = () => parseHTML(visible.html).document;
  const document = open();
  const title = oneLine(document.querySelector("title")?.textContent ?? "");
  const article = new Readability<PageElement>(document, {
    keepClasses: true,
    serializer: (node) => node as unknown as PageElement,
  }).parse();
  const foundChars = article?.textContent?.trim().length ?? 0;
  const isTeaser = foundChars < teaserChars && foundChars < visible.textChars * teaserShare;
  const content = article?.content;
  const root =
    content !== null && content !== undefined && !isTeaser
      ? content
      : (open() as unknown as PageElement).querySelector("body");
  if (root !== null) makeAbsolute(root, address);
  return {
    title: oneLine(article?.title ?? "") || title || null,
    byline: oneLine(article?.byline ?? "") || null,
    text: root === null ? "" : plainText(markdownOf(Turndown, root)),
    cut: visible.cut,
  };
}

const oneLine = (text: string): string => plainText(text).replaceAll(/\s+/g, " ").trim().slice(0, 300);

function makeAbsolute(root: PageElement, base: string): void {
  for (const [selector, name] of [
    ["a[href]", "href"],
    ["img[src]", "src"],
  ] as const)
    for (const element of root.querySelectorAll(selector)) {
      const target = URL.parse(element.getAttribute(name) ?? "", base);
      if (target !== null && ["http:", "https:", "mailto:"].includes(target.protocol))
        element.setAttribute(name, target.href);
      else element.removeAttribute(name);
    }
}

/**
 * Characters that nobody sees and a model reads: tags, variation selectors, marks of direction, controls. The
 * joiners and the selector of emoji stay, which scripts and emoji need.
 */
const unseen = /[[\p{Default_Ignorable_Code_Point}\p{Cc}]--[\n\t]--[\u{200c}-\u{200d}]--[\u{fe0f}]]/gv;

export const plainText = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(unseen, "")
    .replaceAll(/[ \t]+\n/g, "\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
