// Defines the durable record of a running turn. A resumed turn replays these steps instead of repeating them:
// a logged answer is never asked for twice, and a tool whose start is logged never starts twice unless it
// only reads (I7).
import type { CallEffects } from "@parley/tools";
import type { AssistantEntry, SummaryEntry, ToolResultEntry, Usage, UserEntry } from "@parley/protocol";

/** A malformed call: it enters the transcript with empty arguments and is answered with this reason. */
export interface BadCall {
  readonly callId: string;
  readonly reason: string;
}

export type JournalStep =
  /**
   * Logged before any of its tools starts. `closing`: the call was made without tools, to bring the turn to
   * its answer.
   */
  | {
      readonly kind: "model";
      readonly entry: AssistantEntry;
      readonly bad: readonly BadCall[];
      readonly closing: boolean;
    }
  /** Logged before a tool that writes or sends starts, and when a keyed call begins to wait. */
  | { readonly kind: "intent"; readonly callId: string; readonly name: string }
  | { readonly kind: "result"; readonly entry: ToolResultEntry }
  /** What stands for the beginning of the conversation from here on; `usage` of the calls that made it. */
  | { readonly kind: "summary"; readonly entry: SummaryEntry; readonly usage: Usage }
  /** What people wrote while the turn ran. Logged by `absorb` itself. */
  | { readonly kind: "absorbed"; readonly entries: readonly UserEntry[] };

/** A record that a call uses up. The loop hands it from the gate to the journal and never looks into it. */
export interface UsedRecord {
  readonly key: string;
  /** Null removes it. */
  readonly value: string | null;
  readonly ttlMs?: number;
  /** The version that it must still have. */
  readonly expect?: number;
}

/** Its faults end the loop: a holder that lost its lease must stop at once and write nothing (I3). */
export interface Journal {
  /** The steps that earlier holders of this turn logged, in order. */
  readonly steps: readonly JournalStep[];
  /**
   * Durable when it resolves, with the records that these use up and the effects of keyed calls. `isLast`:
   * the loop ends with them and the turn's commit has them too, so a journal may leave them to it; a death
   * between the two then asks the model again.
   */
  checkpoint(
    steps: readonly JournalStep[],
    how?: {
      readonly isLast?: boolean;
      readonly uses?: readonly UsedRecord[];
      readonly effects?: readonly CallEffects[];
    },
  ): Promise<void>;
  /** Claims waiting messages and logs them as one step; empty when none wait. */
  absorb(): Promise<readonly UserEntry[]>;
}
