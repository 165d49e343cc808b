// Defines what the loop asks of the context window: that what a model is shown fits. The loop only logs the
// results, so that a resumed turn shows the same.
import type { Entry, SummaryEntry, Usage } from "@parley/protocol";

export interface Prepared {
  /** Logged and kept as the turn's next entry. */
  readonly summary: SummaryEntry | null;
  /** Usage of the model calls that this took. */
  readonly usage: Usage;
}

export interface Fitted {
  readonly entries: readonly Entry[];
  /** Present where the window leaves less for the answer than the model's own limit. */
  readonly maxTokens?: number;
}

/** `entries` are always the whole history that the loop was given and all of the turn so far. */
export interface LoopContext {
  /** Called before each model call. It may take a while, because a summary is a model call. */
  prepare(entries: readonly Entry[], signal: AbortSignal): Promise<Prepared>;
  /** Selects what the model is shown; pure between calls of the other two. */
  fit(entries: readonly Entry[]): Fitted;
  /** Called when the provider refused the request as too long. Null when no shorter one is left to try. */
  overflowed(entries: readonly Entry[], signal: AbortSignal): Promise<Prepared | null>;
}
