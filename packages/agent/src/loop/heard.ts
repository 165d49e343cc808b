// Tells what the model had before its eyes when it gave one of its answers: whether text of strangers was
// among it, what people said, what was read. It is read from the entries of this turn and of earlier ones
// that no summary has replaced, so a resumed turn knows the same. A turn keeps what it read before a summary
// of its own.
import type { Entry } from "@parley/protocol";
import type { Heard } from "@parley/tools";

export interface HeardBefore extends Heard {
  /** Where the first text of strangers came from; null: there was none. */
  readonly untrusted: string | null;
}

/**
 * `callId`: a call of the answer that is judged. Calls of one answer know nothing of each other. `history`:
 * what the turn began with; what a page said there can still be obeyed. A summary in it stands behind entries
 * that it left as they are.
 */
export function heardBefore(history: readonly Entry[], turn: readonly Entry[], callId: string): HeardBefore {
  const entries = [...history, ...turn];
  const at = entries.findLastIndex(
    (entry) =>
      entry.type === "assistant" &&
      entry.content.some((part) => part.type === "toolCall" && part.id === callId),
  );
  const before = at < 0 ? entries : entries.slice(0, at);
  const trusted: string[] = [];
  const read: string[] = [];
  const sources = new Set<string>();
  let untrusted: string | null = null;
  for (const entry of before) {
    if (entry.type === "user" || entry.type === "toolResult") {
      untrusted ??= entry.untrusted ?? null;
      if (entry.untrusted !== undefined) sources.add(entry.untrusted);
      const texts = entry.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
      const isPeoples = entry.type === "user" && entry.untrusted === undefined;
      (isPeoples ? trusted : read).push(...texts);
    } else if (entry.type === "assistant" && untrusted === null) {
      for (const part of entry.content) if (part.type === "toolCall") trusted.push(JSON.stringify(part.args));
    }
  }
  return { untrusted, trusted, read, sources: [...sources] };
}
