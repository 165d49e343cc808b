// The Markdown grammar for replies: CommonMark with tables, strikethrough and formulas (`$…$`, `$$…$$`,
// `\(…\)`, `\[…\]`, which stay as written), `<br>` as a line break, no other HTML, and links only from
// explicit addresses (`README.md` is a file, not a site).
import MarkdownIt, { type StateInline as InlineState, type Token } from "markdown-it";
import { blockMathEnd, inlineMathEnd } from "./math.ts";

export type { Token } from "markdown-it";

/** Quotes and lists deeper than about half of this are not formatted; see `parse`. */
export const deepestNesting = 40;

const markdown = new MarkdownIt({ html: false, linkify: true, typographer: false });
markdown.set({ maxNesting: deepestNesting });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
// Every address parses as a link, so that no half-parsed `[x](data:...)` is shown; `planLink` decides which
// may be followed.
markdown.validateLink = () => true;
// The label of a bare address stays as typed, because decoding could disguise the address.
markdown.normalizeLinkText = (url) => url;
// Escaped characters stay tokens of their own, because `\|\|` must not open a spoiler.
markdown.disable("text_join");

/** Han, kana, hangul and their punctuation, which put no spaces between words and marks. */
const unspaced =
  /[\u2e80-\u303f\u3040-\u30ff\u3130-\u318f\u31f0-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]/;

const wordCharacter = /[\p{L}\p{N}]/u;

function isFactor(character: string, beyond: string): boolean {
  return /\p{N}/u.test(character) || !wordCharacter.test(beyond);
}

// CommonMark lets a style end at punctuation only before a space, which these scripts do not write:
// `**「重要」**です` would stay open.
markdown.inline.State = class extends markdown.inline.State {
  override scanDelims(start: number, canSplitWord: boolean): ReturnType<InlineState["scanDelims"]> {
    const scanned = super.scanDelims(start, canSplitWord);
    const before = this.src.charAt(start - 1);
    const after = this.src.charAt(start + scanned.length);
    const isUnspaced = unspaced.test(before) || unspaced.test(after);
    // `2*3*4` and `a*b*c` are products: a lone star beside a digit or a lone letter is no style inside a
    // word.
    const isProduct =
      isFactor(before, this.src.charAt(start - 2)) ||
      isFactor(after, this.src.charAt(start + scanned.length + 1));
    const isInWord = wordCharacter.test(before) && wordCharacter.test(after);
    if (canSplitWord && !isUnspaced && scanned.length === 1 && isInWord && isProduct)
      return { ...scanned, can_open: false, can_close: false };
    if (!canSplitWord || !isUnspaced) return scanned;
    return {
      ...scanned,
      can_open: scanned.can_open || after.trim() !== "",
      can_close: scanned.can_close || before.trim() !== "",
    };
  }
};

// `__init__.py` is a file and `__name__` a Python name; nobody writes one lower-case word in bold this way.
const dunder = /__[a-z][a-z0-9]*(?:_[a-z0-9]+)*__(?![\p{L}\p{N}_])/uy;
markdown.inline.ruler.before("emphasis", "dunder", (state, silent) => {
  dunder.lastIndex = state.pos;
  if (/[\p{L}\p{N}_]/u.test(state.src.charAt(state.pos - 1))) return false;
  const name = dunder.exec(state.src)?.[0];
  if (name === undefined) return false;
  if (!silent) state.push("text", "", 0).content = name;
  state.pos += name.length;
  return true;
});

const breakTag = /<br\s*\/?>/iy;
markdown.inline.ruler.before("autolink", "break_tag", (state, silent) => {
  breakTag.lastIndex = state.pos;
  const tag = breakTag.exec(state.src)?.[0];
  if (tag === undefined) return false;
  if (!silent) state.push("hardbreak", "br", 0);
  state.pos += tag.length;
  return true;
});

markdown.inline.ruler.before("escape", "math", (state, silent) => {
  const end = inlineMathEnd(state.src, state.pos);
  if (end === null || end > state.posMax) return false;
  if (!silent) state.push("math_inline", "", 0).content = state.src.slice(state.pos, end);
  state.pos = end;
  return true;
});

markdown.block.ruler.before(
  "fence",
  "math_block",
  (state, startLine, endLine, silent) => {
    const isOutside = (line: number): boolean =>
      line >= endLine || (line > startLine && (state.sCount[line] ?? 0) < state.blkIndent);
    if ((state.sCount[startLine] ?? 0) - state.blkIndent >= 4) return false;
    const lineAt = (line: number): string | null =>
      isOutside(line)
        ? null
        : state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]);
    const end = blockMathEnd(lineAt, startLine);
    if (typeof end !== "number") return false;
    if (silent) return true;
    const token = state.push("math_block", "", 0);
    token.content = state.getLines(startLine, end, state.sCount[startLine] ?? 0, false).trim();
    token.map = [startLine, end];
    state.line = end;
    return true;
  },
  { alt: ["paragraph", "reference", "blockquote", "list"] },
);

/** Linear in the length of the text for every known class of input; about 1 ms per 4 kB of prose. */
export function tokenize(text: string): Token[] {
  return markdown.parse(text, {});
}
