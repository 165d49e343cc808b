// Cuts the lines of a chunk that answer a question best, so that a citation names the very lines.
import { coverage } from "../words.ts";

export interface Snippet {
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
}

/** About what one result of a search may take of the model's context. */
const snippetChars = 700;

export function snippetOf(
  chunk: { readonly first: number; readonly text: string },
  words: readonly string[],
  maxChars = snippetChars,
): Snippet {
  const lines = chunk.text.split("\n");
  if (chunk.text.length <= maxChars)
    return { startLine: chunk.first, endLine: chunk.first + lines.length - 1, text: chunk.text };
  const scores = lines.map((line) => coverage(words, line));
  const best = scores.indexOf(Math.max(...scores));
  let [from, to] = [best, best];
  let chars = lines[best]?.length ?? 0;
  for (;;) {
    const before = from > 0 ? (lines[from - 1]?.length ?? 0) : Infinity;
    const after = to < lines.length - 1 ? (lines[to + 1]?.length ?? 0) : Infinity;
    // What follows explains more often than what precedes.
    if (chars + after + 1 <= maxChars) [to, chars] = [to + 1, chars + after + 1];
    else if (chars + before + 1 <= maxChars) [from, chars] = [from - 1, chars + before + 1];
    else break;
  }
  const text = lines.slice(from, to + 1).join("\n");
  return {
    startLine: chunk.first + from,
    endLine: chunk.first + to,
    text: text.length <= maxChars ? text : aroundWords(text, words, maxChars),
  };
}

/** Of one long line, the part around the first word that was asked for. */
function aroundWords(text: string, words: readonly string[], maxChars: number): string {
  const lower = text.toLowerCase();
  const found = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const at = Math.max(0, Math.min(...found, lower.length) === lower.length ? 0 : Math.min(...found) - 200);
  const part = text.slice(at, at + maxChars).toWellFormed();
  return `${at > 0 ? "… " : ""}${part}${at + maxChars < text.length ? " …" : ""}`;
}
