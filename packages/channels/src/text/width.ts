// Counts the columns of a text in a fixed-width font, as far as fonts agree: East Asian wide characters and
// emoji are two wide, marks none.
import { graphemes } from "./graphemes.ts";

const ascii = /^[\x20-\x7e]*$/;
/** East Asian Width W and F (Unicode Standard Annex 11), by block. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]/u;
const emoji = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|\p{Regional_Indicator}/u;
const unseen = /^[\p{Mark}\p{Default_Ignorable_Code_Point}\p{Cc}]*$/u;

export function textColumns(text: string): number {
  if (ascii.test(text)) return text.length;
  return graphemes(text).reduce((columns, grapheme) => columns + graphemeColumns(grapheme), 0);
}

function graphemeColumns(grapheme: string): number {
  if (unseen.test(grapheme)) return 0;
  return wide.test(grapheme) || emoji.test(grapheme) ? 2 : 1;
}
