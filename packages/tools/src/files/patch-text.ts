// Applies the hunks of one file to its text. A hunk must be found where its lines are; where spaces at the
// ends of lines differ it still fits, where a place is not the only one the patch must say more. Kept lines
// and line endings stay as they are.
import { Fault } from "@parley/protocol";
import type { Hunk } from "./patch-parse.ts";
import type { Newline } from "./text.ts";

interface Line {
  readonly text: string;
  /** As stored; "" for a last line without one. */
  readonly end: string;
}

/** `path` is for the message. Throws Fault("invalid") when a hunk does not fit; it names the hunk. */
export function patchText(path: string, text: string, newline: Newline, hunks: readonly Hunk[]): string {
  const lines = split(text);
  const result: Line[] = [];
  let at = 0;
  for (const [index, hunk] of hunks.entries()) {
    const from = place(path, lines, at, hunk, index + 1);
    result.push(...lines.slice(at, from));
    result.push(...merged(lines.slice(from, from + hunk.before.length), hunk, newline));
    at = from + hunk.before.length;
  }
  result.push(...lines.slice(at));
  // Only the last line may go without an end.
  return result
    .map((line, index) => line.text + (line.end === "" && index < result.length - 1 ? newline : line.end))
    .join("");
}

function split(text: string): readonly Line[] {
  return (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).map((line) => {
    const end = line.endsWith("\r\n") ? "\r\n" : line.endsWith("\n") ? "\n" : "";
    return { text: line.slice(0, line.length - end.length), end };
  });
}

/** Kept lines are the file's own, so that spaces which the patch got wrong stay right. */
function merged(own: readonly Line[], { before, after }: Hunk, newline: Newline): readonly Line[] {
  let from = 0;
  return after.map((text) => {
    const kept = before.indexOf(text, from);
    const line = kept === -1 ? undefined : own[kept];
    if (line === undefined) return { text, end: newline };
    from = kept + 1;
    return line;
  });
}

function place(path: string, lines: readonly Line[], start: number, hunk: Hunk, number: number): number {
  let from = start;
  for (const anchor of hunk.anchors) {
    const found = lines.findIndex((line, index) => index >= from && line.text.trim() === anchor.trim());
    if (found === -1)
      throw new Fault("invalid", `${path}, hunk ${number}: the line after @@ is not in the file: ${anchor}`);
    from = found + 1;
  }
  const { before, atEnd } = hunk;
  if (before.length === 0) return atEnd || hunk.anchors.length === 0 ? lines.length : from;
  for (const same of [exact, looseEnds]) {
    const fits = (at: number): boolean =>
      before.every((text, offset) => same(lines[at + offset]?.text ?? null, text));
    const last = lines.length - before.length;
    if (atEnd) {
      if (last >= from && fits(last)) return last;
      continue;
    }
    const places = [];
    for (let at = from; at <= last && places.length < 2; at += 1) if (fits(at)) places.push(at);
    const [first, second] = places;
    if (first === undefined) continue;
    // Hunks go downwards, and an anchor says from where: then the first place is meant.
    if (second === undefined || hunk.anchors.length > 0) return first;
    throw new Fault(
      "invalid",
      `${path}, hunk ${number}: its lines stand at line ${first + 1} and at line ${second + 1}; add lines, or a line above after @@`,
    );
  }
  throw new Fault(
    "invalid",
    `${path}, hunk ${number}: its lines are not in the file; read it again. First of them: ${before[0] ?? ""}`,
  );
}

const exact = (line: string | null, text: string): boolean => line === text;
const looseEnds = (line: string | null, text: string): boolean =>
  line !== null && line.trimEnd() === text.trimEnd();
