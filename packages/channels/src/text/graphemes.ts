// Finds grapheme boundaries, so that no cut leaves half a character.

/** Boundaries do not depend on the language; a fixed one cuts the same text the same way everywhere. */
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

export function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/**
 * The last grapheme boundary at or before `offset`, given that `from` is one. Two more units decide whether
 * `offset` itself is one.
 */
export function boundaryBefore(text: string, from: number, offset: number): number {
  if (offset >= text.length) return text.length;
  if (offset <= from) return from;
  const around = segmenter.segment(text.slice(from, offset + 2)).containing(offset - from);
  return from + (around?.index ?? 0);
}

/** The end of a code point: one unit back when `offset` lies inside a surrogate pair. */
export function codePointBefore(text: string, offset: number): number {
  const low = text.charCodeAt(offset);
  const high = text.charCodeAt(offset - 1);
  const inside = low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff;
  return inside ? offset - 1 : offset;
}

/** Length of the first character in UTF-16 units; 0 for an empty text. */
export function firstCharacterLength(text: string): number {
  return segmenter.segment(text).containing(0)?.segment.length ?? 0;
}
