// Reduces a name or other short text from outside to one safe line; only characters known to be safe stay.

/**
 * Letters, marks, digits and common punctuation of every script, and the emoji that Unicode recommends. The
 * rest becomes a space.
 */
const safe =
  /(\p{RGI_Emoji}|[[\p{L}\p{M}\p{N}\p{Sc}.,:;!?'"’‘“”„«»‹›…·•–—_\(\)@#\x26+=*\/%~№°§©®™¦¿¡、。「」\-]--\p{Default_Ignorable_Code_Point}])|./gsv;
/**
 * Characters that delimit labels, fences and chat template tokens, each with a look-alike to show instead.
 */
const standIns: { readonly [char: string]: string } = {
  "<": "‹",
  ">": "›",
  "|": "¦",
  "[": "(",
  "]": ")",
  "{": "(",
  "}": ")",
  "`": "'",
  "\\": "/",
};
/** Some scripts put a few marks on one letter; no real name puts ten on one. */
const piledMarks = /(\p{M}{4})\p{M}+/gu;
/** `label` reads at most this many characters per character it keeps, so a name of a megabyte stays cheap. */
const lookedAtPerChar = 8;

/**
 * Returns one line of at most `maxChars` UTF-16 units, without line ends, control or invisible characters,
 * and without any bracket but "(" and ")".
 */
export function label(text: string, maxChars: number): string {
  const line = text
    .slice(0, maxChars * lookedAtPerChar)
    .replace(/[<>|[\]{}`\\]/g, (char) => standIns[char] ?? " ")
    .replace(safe, (_all, kept: string | undefined) => kept ?? " ")
    .replace(piledMarks, "$1")
    .replace(/ {2,}/g, " ")
    .trim();
  if (line.length <= maxChars) return line;
  return `${line.slice(0, maxChars - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
