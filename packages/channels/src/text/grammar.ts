// The Markdown that replies are read as: CommonMark with tables and strikethrough, `<br>` as a line break, no other HTML,
// links only from explicit addresses (`README.md` is a file, not a site).
import MarkdownIt, { type Token } from "markdown-it";

export type { Token } from "markdown-it";

/** Quotes and lists deeper than about half of this are not formatted; see `parse`. */
export const deepestNesting = 40;

const markdown = new MarkdownIt({ html: false, linkify: true, typographer: false });
markdown.set({ maxNesting: deepestNesting });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
// Every address parses as a link, so that no half-parsed `[x](data:...)` is shown; `planLink` decides what may be followed.
markdown.validateLink = () => true;
// The label of a bare address stays as it was typed: no decoding, which could disguise it.
markdown.normalizeLinkText = (url) => url;
// Escaped characters stay tokens of their own: `\|\|` must not open a spoiler.
markdown.disable("text_join");

const breakTag = /<br\s*\/?>/iy;
markdown.inline.ruler.before("autolink", "break_tag", (state, silent) => {
  breakTag.lastIndex = state.pos;
  const tag = breakTag.exec(state.src)?.[0];
  if (tag === undefined) return false;
  if (!silent) state.push("hardbreak", "br", 0);
  state.pos += tag.length;
  return true;
});

/** Linear in the length of the text for every input class we know; about 1 ms per 4 kB of prose. */
export function tokenize(text: string): Token[] {
  return markdown.parse(text, {});
}
