// Defines the events of a running loop, and its end. Deltas are raw model text: the reply parser decides what
// a person sees (I8).
import type { ModelError } from "@parley/models";
import type { Entry, StopReason, ToolResultEntry, Usage, UserEntry } from "@parley/protocol";
import type { ToolEffect } from "@parley/tools";

/**
 * Why a turn's loop ended.
 * - `stop`, `length`, `cut`: the model's last answer stands; `length`: the token limit cut it off, `cut`: its
 *   provider did.
 * - `error`: the model failed for good, see `error`. Nothing of its last answer may be shown as final.
 * - `aborted`: the signal. - `steps`, `loop`: a cap or the identical-call breaker made the model close; its
 *   closing words stand.
 * - `capped`: the ledger refused the next call. - `parked`: a call waits for a decision; the turn can be
 *   resumed.
 */
export type LoopStop =
  | "stop"
  | "length"
  | "cut"
  | "error"
  | "aborted"
  | "steps"
  | "loop"
  | "capped"
  | "parked";

export interface LoopEnd {
  readonly type: "end";
  readonly stop: LoopStop;
  /**
   * Every new entry of the turn in order, the incoming messages included; every call is paired unless the
   * turn is parked (I11).
   */
  readonly entries: readonly Entry[];
  /** The last answer's text as the model wrote it; empty when there is none that may stand. */
  readonly finalText: string;
  /** Of all model calls of the turn, replayed ones included. */
  readonly usage: Usage;
  readonly error?: ModelError;
  /** The ledger's reason after `capped`. */
  readonly reason?: string;
  /** What a parked turn waits for. */
  readonly tickets?: readonly string[];
  /** When a parked turn stops waiting. */
  readonly untilMs?: number;
}

export type LoopEvent =
  | { readonly type: "modelStart"; readonly step: number }
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "thinking"; readonly delta: string }
  /** Forget the deltas since `modelStart`: the attempt failed and another begins. */
  | { readonly type: "discard" }
  | {
      readonly type: "modelEnd";
      readonly step: number;
      readonly model: string;
      readonly stop: StopReason;
      readonly usage: Usage;
      readonly error?: ModelError;
    }
  | {
      readonly type: "toolStart";
      readonly callId: string;
      readonly name: string;
      readonly effect: ToolEffect;
    }
  | {
      readonly type: "toolEnd";
      readonly callId: string;
      readonly name: string;
      readonly result: ToolResultEntry;
    }
  | { readonly type: "absorbed"; readonly entries: readonly UserEntry[] }
  | LoopEnd;
