// Makes hostile text visible on approval cards and terminals: a person sees every character, and none looks
// like another. Only characters known to be safe are shown as they are. Everything else becomes \u{hex}, so
// that nothing hides, reorders or imitates.

/**
 * Latin letters with marks that people write, without those that look like a plain letter or sign (dotless i,
 * long s, click letters).
 */
const latin =
  "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u0130\u0132-\u0137\u0139-\u013e\u0141-\u0148\u014a-\u017e";
const latinMore = "\u01a0\u01a1\u01af\u01b0\u01cd-\u01dc\u0218-\u021b\u1e00-\u1e99\u1ea0-\u1ef9";
const word = new RegExp(
  String.raw`[${latin}${latinMore}0-9]+|(?:(?![${latin}${latinMore}0-9])[\p{L}\p{M}\p{N}])+`,
  "gu",
);
const plain = new RegExp(`^[${latin}${latinMore}0-9]+$`, "u");
const latinLetter = new RegExp(`^[${latin}${latinMore}]$`, "u");

/**
 * Scripts with letters that look Latin. A word of theirs must contain a letter that does not, or people could
 * read it as a Latin word.
 */
const likeLatin: readonly (readonly [script: RegExp, distinct: RegExp])[] = [
  [/^\p{Script=Cyrillic}+$/u, /[БГДЖИЙЛПФЦЧШЩЪЫЭЮЯвджийлмнтфцчшщъыэюяЇїЄє]/u],
  [/^\p{Script=Greek}+$/u, /[ΓΔΘΛΞΠΣΦΨΩβδεζηθλξπςφψω]/u],
];
/**
 * Left-to-right scripts that look unlike Latin, except a few strokes that could pass for a slash, a dash, a
 * bar or a letter.
 */
const unlikeLatin: readonly (readonly [script: RegExp, distinct: RegExp])[] = [
  [
    /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30fc]+$/u,
    /[^\u30fc\u30ce\u30fb\u30cb\u30cf\u30a8\u30ed一二三丨丶丿〇口工八卜ノへヘ々〆]/u,
  ],
  [/^\p{Script=Hangul}+$/u, /[\uac00-\ud7a3]/u],
  ...[
    "Devanagari",
    "Bengali",
    "Gurmukhi",
    "Gujarati",
    "Tamil",
    "Telugu",
    "Kannada",
    "Malayalam",
    "Sinhala",
    "Thai",
    "Lao",
    "Khmer",
    "Georgian",
  ].map(
    (script) =>
      [
        new RegExp(String.raw`^\p{L}[\p{Script=${script}}]*$`, "u"),
        new RegExp(String.raw`^\p{Script=${script}}{2}`, "u"),
      ] as const,
  ),
];
/**
 * Right-to-left scripts reorder the signs and numbers beside them, so they are shown only where there are
 * none.
 */
const fromTheRight: readonly (readonly [script: RegExp, distinct: RegExp])[] = [
  [/^\p{Script=Hebrew}+$/u, /[\u05d0-\u05ea]{2}/u],
  [/^[\p{Script=Arabic}\u064b-\u0652]+$/u, /[\u0620-\u064a]{2}/u],
];
const onlyWords = /^[\p{L}\p{M} ]*$/u;

/** Characters that are invisible although they count as letters or marks. */
const unseen = /\p{Default_Ignorable_Code_Point}/u;
/** More than three marks on one letter cover what stands beside it. */
const stacked = /\p{M}{4}/u;
/** Allowed outside words: ASCII, emoji, currency signs, and a few signs that look like no other. */
const signs = /^[ -~\p{Emoji_Presentation}\p{Sc}§°¿¡«»。、「」『』]$/u;

/**
 * Returns the text for people to read. A backslash before `u{` is escaped too, so two different texts never
 * look the same.
 */
export function visibleText(text: string): string {
  const asWords = onlyWords.test(text);
  return text
    .split("\\u{")
    .map((piece) => shown(piece, asWords))
    .join(`${escaped("\\")}u{`);
}

function shown(text: string, asWords: boolean): string {
  let out = "";
  let at = 0;
  for (const { 0: run, index } of text.matchAll(word)) {
    const end = index + run.length;
    out += beside(text.slice(at, index));
    out += isReadable(run, asWords, text.charAt(index - 1), text.charAt(end)) ? run : beside(run);
    at = end;
  }
  return out + beside(text.slice(at));
}

function isReadable(run: string, asWords: boolean, before: string, after: string): boolean {
  if (plain.test(run)) return true;
  if (unseen.test(run) || stacked.test(run) || isCompatibilityForm(run)) return false;
  const isOf = ([script, distinct]: readonly [RegExp, RegExp]): boolean =>
    script.test(run) && distinct.test(run);
  if (unlikeLatin.some(isOf)) return true;
  // Beside Latin letters this would be one word of two scripts.
  if (latinLetter.test(before) || latinLetter.test(after)) return false;
  return likeLatin.some(isOf) || (asWords && fromTheRight.some(isOf));
}

/**
 * Compatibility forms look the same as other characters. Thai and Lao write one vowel only in such a form.
 */
function isCompatibilityForm(run: string): boolean {
  const rest = run.replaceAll(/[\u0e33\u0eb3]/g, "");
  return rest.normalize("NFKC") !== rest;
}

function beside(text: string): string {
  return Array.from(text, (char) => (signs.test(char) ? char : escaped(char))).join("");
}

function escaped(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}
