// Tells formulas from prices and prose. The grammar and the healing of unfinished replies read by the same
// rules, so that a preview and the finished reply agree on what is a formula.

/** A longer one stays text, which keeps thousands of unclosed openings linear. */
const longestInlineChars = 2_000;
const longestBlockLines = 100;

const closings: { readonly [opening: string]: string } = { $$: "$$", "\\[": "\\]", "\\(": "\\)", $: "$" };

/** What opens a formula at `position`; null where nothing does. */
function openingAt(text: string, position: number): string | null {
  const two = text.slice(position, position + 2);
  if (closings[two] !== undefined) return two;
  return two.startsWith("$") ? "$" : null;
}

/** The end of the formula that begins at `start` in running text, after its closing; null when none does. */
export function inlineMathEnd(text: string, start: number): number | null {
  const opening = openingAt(text, start);
  if (opening === null) return null;
  const from = start + opening.length;
  const close = closingIn(text, opening, from, Math.min(text.length, from + longestInlineChars));
  if (close === null) return null;
  const source = text.slice(from, close);
  const end = close + opening.length;
  if (source.includes("`") || !readsAsMath(source, opening)) return null;
  if (opening === "$" && (touchesWord(text, start, end) || /^\s|\s$|^$/.test(source))) return null;
  return end;
}

/** `US$5`, `$HOME/$USER`, `$5-$10`. */
function touchesWord(text: string, start: number, end: number): boolean {
  return /[\p{L}\p{N}$]/u.test(text.charAt(start - 1)) || /[\p{L}\p{N}$]/u.test(text.charAt(end));
}

function closingIn(text: string, opening: string, from: number, limit: number): number | null {
  const closing = closings[opening] ?? "";
  for (let at = from; at < limit; at += 1) {
    if (text.startsWith(closing, at)) return at;
    // One inside another is none, which keeps a text of openings linear.
    if (text.startsWith(opening, at)) return null;
    // A dollar of another width ends it too: `$a $$b$$`.
    if (opening === "$" && text.startsWith("$", at)) return null;
    if (text.charAt(at) === "\\") at += 1;
  }
  return null;
}

/** Escaped brackets, sums of money and names of variables stand in prose, which formulas do not hold. */
function readsAsMath(source: string, opening: string): boolean {
  if (!/[\p{L}\p{N}]/u.test(source)) return false;
  const bare = source.replace(/\\[a-zA-Z]+\*?\s*(?:\{[^{}]*\})?/g, " ");
  if (opening === "$" && /^\d/.test(source) && /\s\p{L}{2,}(?=[\s,.;:!?]|$)/u.test(bare)) return false;
  if (/[\\^_={}]/.test(source)) return true;
  if (opening.startsWith("\\") && /\p{L}{4}/u.test(source)) return false;
  return (source.match(/(?<=\s|^)\p{L}{3,}(?=[\s,.;:!?]|$)/gu) ?? []).length < 2;
}

/**
 * The line after the formula that begins with line `start` and has its lines to itself; "open" while no line
 * closes it and it may still be closed, null when there is none.
 */
export function blockMathEnd(lineAt: (line: number) => string | null, start: number): number | "open" | null {
  const opening = /^(?:\$\$|\\\[)/.exec(lineAt(start) ?? "")?.[0];
  if (opening === undefined) return null;
  let source = "";
  for (let line = start; line < start + longestBlockLines; line += 1) {
    const whole = lineAt(line);
    if (whole === null) return "open";
    const rest = (line === start ? whole.slice(opening.length) : whole).trimEnd();
    // An empty line ends a formula in TeX as well.
    if (rest === "" && line > start) return null;
    const close = closingIn(rest, opening, 0, rest.length);
    source += `${rest.slice(0, close ?? rest.length)}\n`;
    if (close === null) continue;
    return close + opening.length === rest.length && readsAsMath(source, opening) ? line + 1 : null;
  }
  return null;
}
