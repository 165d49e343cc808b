// Tells the entries of a session in lines, for another session's turn or an operator: words and calls,
// without secrets, each entry cut to a length that many of them can have.
import { sanitizeOutbound, type Redaction } from "@parley/agent";
import type { Entry, TextContent } from "@parley/protocol";
import type { StoredEntry } from "@parley/store";
import { readEntry } from "../transcript/history.ts";

const entryChars = 4_000;
const argumentChars = 500;

/** Oldest first, as given. `calls`: with tool calls and their results. */
export function transcriptLines(
  stored: readonly StoredEntry[],
  redaction: Redaction,
  { calls = true }: { readonly calls?: boolean } = {},
): readonly string[] {
  return stored.flatMap(({ body }) => {
    const entry = readEntry(body);
    if (entry === null || (!calls && entry.type === "toolResult")) return [];
    return linesOf(entry, calls, (text) => shown(text, redaction));
  });
}

function linesOf(entry: Entry, calls: boolean, clean: (text: string) => string): readonly string[] {
  switch (entry.type) {
    case "user":
      return [`user: ${clean(textIn(entry.content))}`];
    case "assistant":
      return entry.content.flatMap((part) => {
        if (part.type === "text") return part.text.trim() === "" ? [] : [`assistant: ${clean(part.text)}`];
        if (part.type !== "toolCall" || !calls) return [];
        // Cut after secrets are taken out, because half of one is not recognised.
        return [`call ${part.name}: ${clean(JSON.stringify(part.args)).slice(0, argumentChars)}`];
      });
    case "toolResult":
      return [`result of ${entry.name}${entry.isError ? " (error)" : ""}: ${clean(textIn(entry.content))}`];
    case "summary":
      return [`summary of what came before: ${clean(entry.text)}`];
    case "notice":
      return [`note: ${clean(entry.text)}`];
  }
}

function textIn(content: readonly { readonly type: string }[]): string {
  return content
    .flatMap((part) => (part.type === "text" ? [(part as TextContent).text] : [`[${part.type}]`]))
    .join(" ");
}

function shown(text: string, redaction: Redaction): string {
  const clean = sanitizeOutbound(text, redaction).trim();
  return clean.length <= entryChars ? clean : `${clean.slice(0, entryChars)}…`;
}
