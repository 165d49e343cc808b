// Puts a value from outside (a path, a name, a description) into the prompt as one bounded line that cannot
// pose as structure. CVE-2026-27001 was a workspace path with line breaks put raw into a system prompt.

// C0, C1, line and paragraph separators, bidirectional controls, zero-width characters, byte order mark.
// oxlint-disable-next-line no-control-regex -- control characters are what this removes
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+/g;

/**
 * Unprintable runs become one space; longer text is cut at `maxChars` UTF-16 units, never inside a surrogate
 * pair.
 */
export function plainLine(text: string, maxChars: number): string {
  const line = text.replace(unprintable, " ").trim();
  return line.length <= maxChars ? line : `${headOf(line, maxChars - 1)}…`;
}

/** The first `chars` units, one less where that would cut a surrogate pair. */
export function headOf(text: string, chars: number): string {
  const end = Math.max(0, chars);
  return text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end);
}

/** The last `chars` units, likewise. */
export function tailOf(text: string, chars: number): string {
  const start = Math.max(0, text.length - Math.max(0, chars));
  return text.slice(isHighSurrogate(text.charCodeAt(start - 1)) ? start + 1 : start);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
