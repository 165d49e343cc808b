// Replaces exact passages of a text. A passage is found whatever the file's line endings are, must stand
// there exactly once, and everything outside it keeps its bytes.
import type { Newline } from "./text.ts";

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
}

export type Edited =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

/**
 * All passages are looked for in the text as it is now, so edits do not depend on each other; overlapping
 * ones are refused.
 */
export function editText(text: string, newline: Newline, edits: readonly TextEdit[]): Edited {
  const plain = text.replaceAll("\r\n", "\n");
  const spans: { readonly from: number; readonly to: number; readonly newText: string }[] = [];
  for (const [index, edit] of edits.entries()) {
    const what = edits.length === 1 ? "oldText" : `oldText of edit ${index + 1}`;
    const oldText = edit.oldText.replaceAll("\r\n", "\n");
    const newText = edit.newText.replaceAll("\r\n", "\n");
    if (oldText === "") return refused(`${what} is empty; use write to make a file`);
    if (oldText === newText) return refused(`${what} and newText are the same`);
    const from = plain.indexOf(oldText);
    if (from === -1)
      return refused(
        `${what} is not in the file${nearMiss(plain, oldText)}. Read the file and copy the passage exactly`,
      );
    const again = plain.indexOf(oldText, from + 1);
    if (again !== -1) {
      const lines = [from, again].map((at) => lineAt(plain, at)).join(" and ");
      return refused(
        `${what} stands more than once (lines ${lines}); add lines around it until it is the only one`,
      );
    }
    spans.push({ from, to: from + oldText.length, newText });
  }
  const sorted = spans.toSorted((a, b) => a.from - b.from);
  const clash = sorted.find((span, index) => span.from < (sorted[index - 1]?.to ?? 0));
  if (clash !== undefined)
    return refused(`two edits overlap at line ${lineAt(plain, clash.from)}; make them one`);

  const original = originalOffsets(text);
  let result = "";
  let at = 0;
  for (const { from, to, newText } of sorted) {
    result += text.slice(at, original(from)) + newText.replaceAll("\n", newline);
    at = original(to);
  }
  return { ok: true, text: result + text.slice(at) };
}

/** From an offset in the text with "\n" alone to the one in the text as stored; offsets must not fall. */
function originalOffsets(text: string): (plainOffset: number) => number {
  let stored = 0;
  let plain = 0;
  return (plainOffset) => {
    for (;;) {
      const next = text.indexOf("\r\n", stored);
      // The offset of a line's end is before its "\r".
      if (next === -1 || plainOffset <= plain + (next - stored)) {
        stored += plainOffset - plain;
        plain = plainOffset;
        return stored;
      }
      plain += next - stored + 1;
      stored = next + 2;
    }
  };
}

/** Says where the passage would be but for its spaces, because that is what models get wrong most. */
function nearMiss(text: string, wanted: string): string {
  const bare = (line: string): string => line.trim();
  const [first = ""] = wanted.split("\n").map(bare).filter(Boolean);
  if (first === "") return "";
  const line = text.split("\n").findIndex((each) => bare(each) === first);
  return line === -1 ? "" : ` (line ${line + 1} begins alike; the spaces differ, or what follows does)`;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

function refused(reason: string): Edited {
  return { ok: false, reason };
}
