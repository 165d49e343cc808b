// Selects the part of a session's log that a model still sees: the newest summary, and the entries after the
// last one that it covers. A summary is an entry of its own at the log's end; what it covers stays in the
// transcript (I11).
import type { Entry, SummaryEntry } from "@parley/protocol";

/**
 * An entry with its seq in the session's transcript; entries of the running turn have the seq that its commit
 * will give them.
 */
export interface Placed {
  readonly seq: number;
  readonly entry: Entry;
}

export interface LiveHistory {
  readonly summary: (Placed & { readonly entry: SummaryEntry }) | null;
  /** Oldest first, without summaries and notices. */
  readonly tail: readonly Placed[];
}

export function liveHistory(log: readonly Placed[]): LiveHistory {
  const summary = log.findLast(isSummary) ?? null;
  const throughSeq = summary?.entry.throughSeq ?? -Infinity;
  return {
    summary,
    tail: log.filter(
      ({ seq, entry }) => seq > throughSeq && entry.type !== "summary" && entry.type !== "notice",
    ),
  };
}

function isSummary(placed: Placed): placed is Placed & { readonly entry: SummaryEntry } {
  return placed.entry.type === "summary";
}
