// Text for a terminal or a log that people read: what is seen is what is there. Letters, signs and pictures of every script stay; what steers the
// terminal, reorders the line or cannot be seen is written as \u{hex}. For a text that a person decides on, visibleText is stricter.

/** Safe by kind, so that what a later Unicode adds is written out until it is known. Blank signs and fillers are no signs to the eye. */
const unsafe =
  /(\p{RGI_Emoji})|[^[\p{L}\p{M}\p{N}\p{P}\p{S}\n\t \u00a0\u202f\u3000]--[\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]]/gv;
/** Most texts: quicker to find out than to look at each character. */
const plain = /^[\n\t -~]*$/;

/** Line breaks and tabs stay. `write`: how a character that is not safe is shown. */
export function printable(text: string, write: (char: string) => string = inBraces): string {
  return plain.test(text)
    ? text
    : text.replace(unsafe, (char, emoji: string | undefined) => emoji ?? write(char));
}

/** The same for a line of JSON, which means what it meant before. */
export function printableJson(line: string): string {
  return printable(line, (char) =>
    [...Array(char.length).keys()].map((at) => `\\u${hex(char.charCodeAt(at)).padStart(4, "0")}`).join(""),
  );
}

function inBraces(char: string): string {
  return `\\u{${hex(char.codePointAt(0) ?? 0)}}`;
}

function hex(code: number): string {
  return code.toString(16);
}
