// Turns Markdown into platform messages: one parse, one split, one rendering per dialect. Pure and
// synchronous.
import { Fault, type Dialect, type RenderedText } from "@parley/protocol";
import { renderDiscord } from "./discord.ts";
import { htmlOf, renderHtmlMessage } from "./html.ts";
import { parse, unformatted } from "./parse.ts";
import { documentReader } from "./slice.ts";
import { split, type Render, type TextLimits } from "./split.ts";
import { renderTelegram } from "./telegram.ts";

export { isBlank } from "./characters.ts";
export { healPartial } from "./heal.ts";
export { longestMarkdownChars } from "./parse.ts";

export interface MarkdownOptions extends TextLimits {
  readonly dialect: Dialect;
}

const renderers: { readonly [dialect in Exclude<Dialect, "markdown">]: Render } = {
  telegram: renderTelegram,
  discord: renderDiscord,
  html: renderHtmlMessage,
  plain: ({ text }) => ({ text, entities: [], plain: text }),
};

/**
 * The messages for `markdown` on a surface, in order; none when nothing in it is visible. Each holds at most
 * `textChars` UTF-16 units and `textEntities` entities. A text longer than `longestMarkdownChars`, or nested
 * deeper than 19 lists or 38 quotes, is sent as plain text. Throws Fault("invalid") for a limit that is no
 * positive integer, and nothing else.
 */
export function renderMarkdown(markdown: string, options: MarkdownOptions): readonly RenderedText[] {
  checkLimits(options);
  const { dialect } = options;
  if (dialect === "markdown") return whole(markdown);
  return split(parse(markdown), options, renderers[dialect]);
}

/**
 * As `renderMarkdown`, but a text that is nothing but markup (a lone fence, a lone `#`) is shown as written.
 */
export function renderFinal(markdown: string, options: MarkdownOptions): readonly RenderedText[] {
  const rendered = renderMarkdown(markdown, options);
  const { dialect } = options;
  if (rendered.length > 0 || dialect === "markdown") return rendered;
  return split(unformatted(markdown), options, renderers[dialect]);
}

/** Programs have no limit on the characters of a message. */
function whole(markdown: string): readonly RenderedText[] {
  return markdown.trim() === "" ? [] : [{ text: markdown, entities: [], plain: plainText(markdown) }];
}

/**
 * The whole text as sanitized HTML. Classes: `spoiler`, `math`, `language-*`, and `left`, `right`, `center`
 * on cells.
 */
export function renderHtml(markdown: string): string {
  const document = parse(markdown);
  return htmlOf(documentReader(document).take(document.text.length));
}

/** The whole text as people read it, without markup, for logs, titles and notifications. */
export function plainText(markdown: string): string {
  return parse(markdown).text.trim();
}

function checkLimits({ textChars, textEntities }: TextLimits): void {
  checkLimit("textChars", textChars);
  checkLimit("textEntities", textEntities ?? 1);
}

function checkLimit(name: string, limit: number): void {
  if (Number.isInteger(limit) && limit >= 1) return;
  throw new Fault("invalid", `${name} is ${limit}: give the surface's limit, an integer of at least 1`);
}
