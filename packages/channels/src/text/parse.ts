// Parses Markdown into a document. Never throws; a text that is too large or too deep to format arrives
// whole, as plain text.
import { cleanText } from "./characters.ts";
import { writeBlocks } from "./blocks.ts";
import type { Document } from "./document.ts";
import { deepestNesting, tokenize } from "./grammar.ts";
import { documentWriter } from "./writer.ts";

/** In UTF-16 units. No real reply is that long; the limit keeps a hostile one to a fraction of a second. */
export const longestMarkdownChars = 200_000;

export function parse(markdown: string): Document {
  if (markdown.length > longestMarkdownChars) return unformatted(markdown);
  const clean = cleanText(markdown);
  const tokens = tokenize(clean);
  // markdown-it drops deeper nesting, and losing text is worse than losing its form.
  if (tokens.some((token) => token.nesting === 1 && token.level >= deepestNesting - 1))
    return unformatted(clean);
  const writer = documentWriter();
  writeBlocks(writer, tokens);
  return writer.finish();
}

/** The text as written. */
export function unformatted(markdown: string): Document {
  const text = cleanText(markdown).trim();
  return {
    text,
    spans: [{ start: 0, end: text.length, depth: 0, mark: { kind: "paragraph", tight: false } }],
  };
}
