// How a name or another short text from outside is written into one line of ours: nothing but what is known to be safe stays.

/** Letters, marks, digits and common punctuation of every script, and emoji as Unicode recommends them; the rest becomes a space. */
const safe =
  /(\p{RGI_Emoji}|[[\p{L}\p{M}\p{N}\p{Sc}.,:;!?'"’‘“”„«»‹›…·•–—_\(\)@#\x26+=*\/%~№°§©®™¦¿¡、。「」\-]--\p{Default_Ignorable_Code_Point}])|./gsv;
/** What opens and closes labels, fences and the tokens of chat templates, with what people read in its place. */
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
/** Some scripts put a few marks on one letter; nobody's name puts ten. */
const piledMarks = /(\p{M}{4})\p{M}+/gu;
/** Of every character that is kept at most this many are looked at: a name of a megabyte costs no more than a long one. */
const lookedAtPerChar = 8;

/** One line of at most `maxChars` UTF-16 units. It holds no line end, no control or invisible character, no bracket but "(" and ")". */
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
