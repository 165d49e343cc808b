// Where a text may be cut so that no person sees half a character.

/** Boundaries do not depend on the language; a fixed one keeps the same text cut the same everywhere. */
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

export function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** The last grapheme boundary at or before `offset`, given that `from` is one. Two units ahead decide whether `offset` is a boundary. */
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

/** In UTF-16 units; 0 for an empty text. */
export function firstCharacterLength(text: string): number {
  return segmenter.segment(text).containing(0)?.segment.length ?? 0;
}
