// Closes the styles and code that are open at the end of an unfinished paragraph, and holds back half of a
// link.
import { inlineMathEnd } from "./math.ts";

/** A bracket that stays open for longer than this is no link in the making. */
const longestLabelChars = 200;
const longestAddressChars = 2000;
const wordCharacter = /[\p{L}\p{N}]/u;

export function closeInline(text: string): string {
  /** `**`, `*`, `__`, `_`, `~~` or `||`, the innermost last. */
  const open: string[] = [];
  let position = 0;
  const finish = (end: number, code = ""): string => {
    const kept = text.slice(0, end).trimEnd();
    return kept + code + open.toReversed().join("");
  };
  while (position < text.length) {
    const character = text.charAt(position);
    const formulaEnd = inlineMathEnd(text, position);
    if (formulaEnd !== null) position = formulaEnd;
    else if (character === "\\") {
      if (position === text.length - 1) return finish(position);
      position += 2;
    } else if (character === "`") {
      const end = endOfRun(text, position);
      const run = text.slice(position, end);
      if (end === text.length) return finish(position);
      const closing = findRun(text, run, end);
      // Closing an empty code span would make a longer run of backticks.
      if (closing === null && text.slice(end).trim() === "") return finish(position);
      if (closing === null) return finish(codeEnd(text, end, run.length), run);
      position = closing;
    } else if (character === "[") {
      const link = readLink(text, position);
      if (link === "half") return finish(text.charAt(position - 1) === "!" ? position - 1 : position);
      position += 1;
    } else if (character === "]" && text.charAt(position + 1) === "(") {
      const closing = text.slice(position, position + longestAddressChars).indexOf(")");
      position += closing + 1 || 1;
    } else if ("*_~|".includes(character)) {
      const end = endOfRun(text, position);
      const left = readDelimiters(open, text, position, end);
      if (left > 0 && end === text.length) return finish(end - left);
      position = end;
    } else position += 1;
  }
  return finish(text.length);
}

/** Closes and opens styles for one run of delimiters; returns how many of its characters did neither. */
function readDelimiters(open: string[], text: string, start: number, end: number): number {
  const character = text.charAt(start);
  const before = text.charAt(start - 1);
  const after = text.charAt(end);
  const paired = character === "~" || character === "|";
  if (paired && end - start !== 2) return end === text.length && end - start === 1 ? 1 : 0;
  let left = end - start;
  const canClose = before !== "" && before.trim() !== "" && !(character === "_" && wordCharacter.test(after));
  while (canClose && left > 0) {
    const index = open.findLastIndex((marker) => marker.startsWith(character) && marker.length <= left);
    if (index === -1) break;
    left -= open[index]?.length ?? 0;
    open.length = index;
  }
  // A lone delimiter inside a word is more often a product or a name than a style.
  const canOpen =
    after !== "" && after.trim() !== "" && !(left === 1 && wordCharacter.test(before)) && left <= 3;
  if (!canOpen) return left;
  if (left === 3) open.push(character.repeat(2), character);
  else if (left > 0) open.push(character.repeat(left));
  return 0;
}

/** `half` while it may still become a link. */
function readLink(text: string, start: number): "half" | "whole" | "none" {
  const rest = text.slice(start, start + longestLabelChars);
  const atEnd = start + rest.length === text.length;
  const labelEnd = closingBracket(rest);
  if (labelEnd === null) return atEnd && !rest.includes("\n") ? "half" : "none";
  if (atEnd && labelEnd === rest.length - 1) return "half";
  if (text.charAt(start + labelEnd + 1) !== "(") return "none";
  const address = text.slice(start + labelEnd + 1, start + labelEnd + 1 + longestAddressChars);
  if (address.includes(")")) return "whole";
  return start + labelEnd + 1 + address.length === text.length && !address.includes("\n") ? "half" : "none";
}

function closingBracket(text: string): number | null {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (character === "\\") index += 1;
    else if (character === "[") depth += 1;
    else if (character === "]" && --depth === 0) return index;
  }
  return null;
}

function endOfRun(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && text[end] === text[start]) end += 1;
  return end;
}

/** The end of the code that `run` opened, after its closing run of the same length. */
function findRun(text: string, run: string, from: number): number | null {
  for (let start = text.indexOf(run, from); start !== -1;) {
    const end = endOfRun(text, start);
    if (end - start === run.length) return end;
    start = text.indexOf(run, end);
  }
  return null;
}

/** The end of unclosed code, without a closing run that is only partly there. */
function codeEnd(text: string, start: number, runLength: number): number {
  let end = text.length;
  while (runLength > 1 && end > start && text[end - 1] === "`") end -= 1;
  return end;
}
