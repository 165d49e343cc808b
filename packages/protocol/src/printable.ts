// Makes text safe for a terminal or a log: readers see every character that is there. Letters, signs and
// emoji of all scripts stay. Characters that control the terminal, reorder the line or are invisible become
// \u{hex}. Text that a person decides on goes through the stricter visibleText.

/**
 * Characters count as safe by category, so what a later Unicode adds is escaped until it is known. Blank
 * symbols and fillers count as unsafe.
 */
const unsafe =
  /(\p{RGI_Emoji})|[^[\p{L}\p{M}\p{N}\p{P}\p{S}\n\t \u00a0\u202f\u3000]--[\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]]/gv;
/** Fast path: most texts match it, and need no look at each character. */
const plain = /^[\n\t -~]*$/;

/** Keeps line breaks and tabs. `write` turns an unsafe character into what is shown. */
export function printable(text: string, write: (char: string) => string = inBraces): string {
  return plain.test(text)
    ? text
    : text.replace(unsafe, (char, emoji: string | undefined) => emoji ?? write(char));
}

/** The same for one line of JSON, whose meaning stays the same. */
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
