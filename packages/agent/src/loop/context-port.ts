// What the loop asks of whoever keeps the context: that what a model is shown fits its window. The loop
// itself only writes down what comes of it, so that a resumed turn shows the same.
import type { Entry, SummaryEntry, Usage } from "@parley/protocol";

export interface Prepared {
  /** To be logged and kept as the turn's next entry. */
  readonly summary: SummaryEntry | null;
  /** Of the model calls that this took. */
  readonly usage: Usage;
}

export interface Fitted {
  readonly entries: readonly Entry[];
  /** Present where the window leaves less than the model would take for its answer. */
  readonly maxTokens?: number;
}

/** `entries` are always the whole history that the loop was given and all of the turn so far. */
export interface LoopContext {
  /** Before each call. May take a while: a summary is a model call. */
  prepare(entries: readonly Entry[], signal: AbortSignal): Promise<Prepared>;
  /** The part of the entries that the model is shown; pure between two calls of the others. */
  fit(entries: readonly Entry[]): Fitted;
  /** The provider refused the request as too long. Null when no shorter one is left to try. */
  overflowed(entries: readonly Entry[], signal: AbortSignal): Promise<Prepared | null>;
}
