// Code in a stream of Markdown: spans on one line, and fenced blocks. What stands in code is text, whatever
// it looks like.
import type { Cursor } from "./cursor.ts";

/** A code span must close on its line within this distance; what does not is no code, so tags in it count. */
export const codeSpanChars = 1_000;
const backtickRun = 64;
const fenceInfoChars = 200;

export interface CodeFence {
  readonly char: string;
  readonly length: number;
  midLine: boolean;
}

/** What stands at the cursor: so many characters of code, or of text; perhaps the first line of a block. */
export interface CodeRead {
  readonly chars: number;
  readonly isCode: boolean;
  readonly fence?: CodeFence;
}

/** At a backtick or a tilde. `line`: what stands before it on its line. */
export function codeAt({ rest, at, ended }: Cursor, line: string): CodeRead | "hold" {
  const char = rest.charAt(at);
  const atLineStart = /^[ \t>]*$/u.test(line);
  let length = 0;
  while (length < backtickRun && rest.charAt(at + length) === char) length += 1;
  if (at + length === rest.length && !ended && length < backtickRun) return "hold";
  const lineBreak = rest.indexOf("\n", at);
  const info = rest.slice(at + length, lineBreak === -1 ? undefined : lineBreak);
  if (atLineStart && length >= 3 && info.length <= fenceInfoChars && !info.includes("`")) {
    if (lineBreak === -1 && !ended) return "hold";
    if (lineBreak !== -1)
      return { chars: lineBreak + 1 - at, isCode: true, fence: { char, length, midLine: false } };
  }
  if (char !== "`" || length === backtickRun) return { chars: length, isCode: false };
  return spanAt(rest, at, length, lineBreak, ended);
}

function spanAt(
  rest: string,
  at: number,
  length: number,
  lineBreak: number,
  ended: boolean,
): CodeRead | "hold" {
  const from = at + length;
  const limit = Math.min(lineBreak === -1 ? rest.length : lineBreak, from + codeSpanChars);
  const runs = /`+/gu;
  runs.lastIndex = from;
  for (let run = runs.exec(rest); run !== null && run.index < limit; run = runs.exec(rest)) {
    const end = run.index + run[0].length;
    if (end === rest.length && !ended) return "hold";
    if (run[0].length === length) return { chars: end - at, isCode: true };
  }
  if (lineBreak === -1 && rest.length < from + codeSpanChars && !ended) return "hold";
  return { chars: length, isCode: false };
}

/** The next line of a fenced block, or a part of it; `closes` when it is the last. */
export function fenceLine(
  { rest, at, ended }: Cursor,
  fence: CodeFence,
): { readonly chars: number; readonly closes: boolean } | "hold" {
  const lineBreak = rest.indexOf("\n", at);
  const text = rest.slice(at, lineBreak === -1 ? undefined : lineBreak + 1);
  let closes = false;
  if (!fence.midLine) {
    const closing = /^[ \t>]*(`+|~+)[ \t]*\n?$/u.exec(text)?.[1] ?? "";
    const isClosing = closing.startsWith(fence.char) && closing.length >= fence.length;
    if (isClosing && (lineBreak !== -1 || ended)) closes = true;
    else if (lineBreak === -1 && !ended && text.length < fenceInfoChars && /^[ \t>]*[`~]*[ \t]*$/u.test(text))
      return "hold";
  }
  fence.midLine = lineBreak === -1;
  return { chars: text.length, closes };
}
