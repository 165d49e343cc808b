// The producer's side of the inbox: rows, accept and stop (I1, I2).
import type { ConversationKey, SessionKey } from "@parley/protocol";

/** How a row ends (I2). */
export const outcomes = [
  "answered",
  "silent",
  "commanded",
  "refused",
  "context",
  "superseded",
  "stopped",
  "dead",
] as const;

export type Outcome = (typeof outcomes)[number];

export type As =
  /**
   * `ticket`: this row answers a turn that is parked with it, and wakes no other one. `barrier`: absorb never
   * reads past this row (/new, /model).
   */
  | { readonly kind: "work"; readonly afterMs?: number; readonly ticket?: string; readonly barrier?: boolean }
  /** Replaces the payload of the row with the same subject, if work on that has not started. */
  | { readonly kind: "edit" }
  /** Keeps the newest `keep` context rows of the lane; never makes the lane due. */
  | { readonly kind: "context"; readonly keep: number }
  /** Ends at once: refused, commanded or dead. */
  | { readonly kind: "closed"; readonly outcome: Outcome; readonly reason: string };

export interface NewRow {
  /**
   * First guard against duplicates: `channel:account:event`. A cron slot is `cron:<job>:<instant>`, so it
   * fires only once.
   */
  readonly id: string;
  /**
   * With `version` the second guard: `account/chat/message`. The row of a ticket has `ticket:<id>`, so it
   * answers only once.
   */
  readonly subject?: string;
  /** Edit date, 0 for the original message. */
  readonly version?: number;
  readonly pool: string;
  readonly lane: SessionKey;
  /** The conversation that its answer goes to (I6). */
  readonly conversation: ConversationKey;
  /** Hash of the effective tool policy and the owner flag; a turn holds rows of one authority only. */
  readonly authority: string;
  readonly as: As;
  /** JSON text that no driver reads. */
  readonly payload: string;
}

export interface Row {
  readonly id: string;
  readonly seq: number;
  readonly conversation: ConversationKey;
  readonly authority: string;
  readonly version: number;
  readonly ticket?: string;
  readonly acceptedAtMs: number;
  readonly payload: string;
}

export interface Accepted {
  readonly id: string;
  readonly seq: number;
  /**
   * `late`: work on the edited row had started already. `duplicate`: the id or guard was known, so nothing
   * was stored.
   */
  readonly verdict: "queued" | "replaced" | "context" | "closed" | "late" | "duplicate";
  /** Rows that wait in the lane now, counted up to 1,000. */
  readonly waiting: number;
}

export interface Stop {
  /**
   * Raises the fence of this turn, or of the open one for "open". The next holder gets it with `stop` set and
   * closes it by commit.
   */
  readonly turn?: string;
  /** Id of a row: the turn goes on where it has taken this one. */
  readonly unless?: string;
  /** Ends waiting rows as `stopped`, or with the outcome in `outcome`. */
  readonly rows?:
    | "all"
    | { readonly keepNewest: number }
    | { readonly keepOldest: number }
    | { readonly ids: readonly string[] };
  /** Default `stopped`. */
  readonly outcome?: Outcome;
  readonly reason: string;
}

export interface Stopped {
  /** Id of the turn that was told to stop; null when none was open. */
  readonly turn: string | null;
  /** Ids of the rows that ended here. */
  readonly rows: readonly string[];
}

export type RowState = "waiting" | "claimed" | "context" | "ended";

export interface RowView extends Row {
  readonly lane: SessionKey;
  readonly pool: string;
  readonly state: RowState;
  readonly outcome: Outcome | null;
  readonly reason: string | null;
  readonly turn: string | null;
  readonly endedAtMs: number | null;
}

export interface RowFilter {
  readonly lane?: SessionKey;
  readonly id?: string;
  readonly turn?: string;
  readonly state?: RowState;
  readonly outcome?: Outcome;
  /** Includes dead rows that an operator dismissed. */
  readonly dismissed?: boolean;
  /** A substring of the payload, for `why <text>`. Newest first; scans. */
  readonly text?: string;
  /** The platform's message id, which the subject ends in after a slash. Scans. */
  readonly message?: string;
  /** A conversation key, or the encoded last part of one: the id of a thread, or of a chat. Scans. */
  readonly place?: string;
  readonly limit: number;
}

export interface Inbox {
  /**
   * Durable once resolved; only then may the platform be acknowledged. One transaction, in the given order.
   */
  accept(rows: readonly NewRow[]): Promise<readonly Accepted[]>;
  /** One atomic step for /stop, interrupt, cancel and drop policies. */
  stop(lane: SessionKey, what: Stop): Promise<Stopped>;
  /** Newest first. To retry a dead row, accept a copy under a new id: a row never leaves a terminal state. */
  find(filter: RowFilter): Promise<readonly RowView[]>;
  /** Takes dead rows off the operator's list and returns how many. */
  dismiss(ids: readonly string[]): Promise<number>;
}
