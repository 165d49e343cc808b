// Makes an unfinished reply presentable: closes what is open and holds back what is half written. Works on
// the Markdown, so that previews and finished replies are rendered the same way.
import { closeInline } from "./heal-inline.ts";
import { blockMathEnd } from "./math.ts";

interface Fence {
  readonly marker: string;
  /** Prefix of its lines: quote marks, and indentation in place of a list's bullet. */
  readonly prefix: string;
}

const fenceOpening = /^((?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)(`{3,}(?=[^`]*$)|~{3,})/;
const fenceClosing = /^[ \t>]*(`{3,}|~{3,})[ \t]*$/;
/** The last line of code may be a half-written closing fence. */
const partialFence = /^[ \t>]*(?:`+|~+)$/;
/**
 * An unfinished line that may still become a fence, a heading's underline, a rule, a list item or a quote.
 */
const undecidedLine = /^[ \t]*(?:`{1,2}|~{1,2}|-+|=+|[*_]+|#+|\+|\d{1,9}[.)]?|>+)[ \t]*$/;
const tableLine = /^[ \t]*\|(?!\|)/;
const dashRow = /^[ \t]*\|?[ \t:|-]*-[ \t:|-]*$/;
const blockOpening = /^[ \t]*(?:$|[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t])/;

/**
 * Markdown that renders well from a prefix of a reply: its longest part with a settled meaning, plus closing
 * marks. Adds and changes nothing else. Linear in the length of the prefix.
 */
export function healPartial(markdown: string): string {
  let lines = markdown.split("\n");
  const { fence, bodyLines, closedLines } = readFences(lines);
  // A formula waits for its end: half of one would be read as styles, rules and lists.
  if (fence === null) lines = lines.slice(0, openFormula(lines, closedLines));
  const last = lines.at(-1) ?? "";
  if (fence !== null && bodyLines > 0) {
    const settled = partialFence.test(last) ? lines.slice(0, -1) : lines;
    return [...settled, fence.prefix + fence.marker].join("\n");
  }
  // An opening fence waits for the end of its line, because its language is still being written.
  if (fence !== null || undecidedLine.test(last)) lines[lines.length - 1] = "";
  const table = settledTable(lines);
  if (table !== null) return lines.slice(0, table.keep).join("\n");
  if (closedLines === lines.length) return lines.join("\n");
  let start = Math.max(closedLines, lines.length - (lines.at(-1) === "" ? 2 : 1));
  while (start > closedLines && !blockOpening.test(lines[start] ?? "")) start -= 1;
  const settled = lines.slice(0, start);
  return [...settled, closeInline(lines.slice(start).join("\n"))].join("\n");
}

/** The fence that is open at the end, the lines after its opening, and where the last closed one ended. */
function readFences(lines: readonly string[]): {
  readonly fence: Fence | null;
  readonly bodyLines: number;
  readonly closedLines: number;
} {
  let fence: Fence | null = null;
  let bodyLines = 0;
  let closedLines = 0;
  for (const [index, line] of lines.entries()) {
    if (fence === null) {
      const [, prefix = "", marker] = fenceOpening.exec(line) ?? [];
      if (marker === undefined) continue;
      fence = { marker, prefix: prefix.replace(/[^> \t]/g, " ") };
      bodyLines = 0;
      continue;
    }
    const closing: string | undefined = fenceClosing.exec(line)?.[1];
    if (closing?.startsWith(fence.marker) === true) {
      fence = null;
      closedLines = index + 1;
    } else bodyLines += 1;
  }
  return { fence, bodyLines, closedLines };
}

/** Where the formula begins that is open at the end; the number of lines when none is. */
function openFormula(lines: readonly string[], from: number): number {
  let start = lines.length;
  while (start > from && (lines[start - 1] ?? "").trim() !== "") start -= 1;
  const lineAt = (line: number): string | null => lines[line]?.replace(/^[ \t>]+/, "") ?? null;
  for (let line = start; line < lines.length; line += 1) {
    const end = blockMathEnd(lineAt, line);
    if (end === "open") return line;
    if (end !== null) line = end - 1;
  }
  return lines.length;
}

/**
 * Null when the text does not end in a table, otherwise how many lines to keep: whole rows, and none before
 * the row of dashes is whole.
 */
function settledTable(lines: readonly string[]): { readonly keep: number } | null {
  const last = lines.at(-1) ?? "";
  const end = lines.length - 1;
  if (last !== "" && !tableLine.test(last)) return null;
  let start = end;
  while (start > 0 && tableLine.test(lines[start - 1] ?? "")) start -= 1;
  const rows = end - start;
  if (rows === 0 && last === "") return null;
  const hasDashes = rows >= 2 && dashRow.test(lines[start + 1] ?? "");
  if (rows >= 2 && !hasDashes) return null;
  return { keep: hasDashes ? end : start };
}
