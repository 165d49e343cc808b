// Repairs front matter that YAML refuses although its meaning is plain: a colon, a "#" or an opening
// character of YAML in a description's text, and tabs for indentation. It is tried only on a block that could
// not be read as it is.

/** Keys whose value is text whatever it looks like. */
const textKeys = new Set([
  "name",
  "description",
  "homepage",
  "license",
  "compatibility",
  "version",
  "author",
  "argument-hint",
]);

export interface Mended {
  readonly block: string;
  readonly notes: readonly string[];
}

/** Null when there is nothing to mend. */
export function mended(block: string): Mended | null {
  const notes: string[] = [];
  const lines = untabbed(block.split("\n"), notes);
  const out: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const match = /^([A-Za-z][\w-]*):[ ]+(\S.*)$/.exec(line);
    const [, key = "", value = ""] = match ?? [];
    // Lines that are indented below belong to the text.
    let end = at + 1;
    while (/^\s+\S/.test(lines[end] ?? "")) end += 1;
    const text = [value, ...lines.slice(at + 1, end)].map((each) => each.trim()).join(" ");
    if (!textKeys.has(key) || /^[|>]/.test(value) || isQuoted(text) || !isMistaken(text)) {
      out.push(line);
      continue;
    }
    out.push(`${key}: ${JSON.stringify(text)}`);
    notes.push(`the text of "${key}" is read as it stands; in YAML it needs quotes`);
    at = end - 1;
  }
  return notes.length === 0 ? null : { block: out.join("\n"), notes };
}

/** YAML would take it for something else than text, or not at all. */
function isMistaken(value: string): boolean {
  return /:(?:\s|$)|\s#|^["'@`%&*!?,[\]{}-]/.test(value);
}

function isQuoted(value: string): boolean {
  const text = value.trim();
  return (
    text.length > 1 &&
    ((text.startsWith('"') && /[^\\]"$/.test(text)) || (text.startsWith("'") && text.endsWith("'")))
  );
}

function untabbed(lines: readonly string[], notes: string[]): readonly string[] {
  if (!lines.some((line) => /^\s*\t/.test(line))) return lines;
  notes.push("tabs that indent are read as two spaces");
  return lines.map((line) => line.replace(/^[ \t]+/, (run) => run.replaceAll("\t", "  ")));
}
