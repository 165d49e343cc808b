// The consumer's side of the inbox: durable turns, from take to commit (I3, I7).
import type { ConversationKey, Json, SessionKey } from "@parley/protocol";
import type { CellWrite } from "./cells.ts";
import type { NewRow, Outcome, Row } from "./inbox.ts";
import type { Lanes, Lease } from "./lanes.ts";
import type { NewDelivery } from "./outbox.ts";
import type { StoredEntry } from "./sessions.ts";

/**
 * One logged step of a turn. The store itself writes `absorbed` steps: their body is the JSON list of row
 * ids.
 */
export interface Step {
  readonly kind: "model" | "intent" | "result" | "summary" | "preview" | "absorbed";
  readonly body: string;
}

export interface Turn extends Lease {
  /** `<lane>#<token that opened it>`, the same over every resume. */
  readonly id: string;
  /**
   * Number of leases of the turn that ended without their holder, including this one. `take` raises it when
   * the last holder was another process; a checkpoint resets it to 1, and `lived` takes one back.
   */
  readonly attempt: number;
  readonly epoch: number;
  readonly pool: string;
  readonly conversation: ConversationKey;
  readonly authority: string;
  readonly openedAtMs: number;
  /** In the order claimed, absorbed rows last. */
  readonly rows: readonly Row[];
  /** Context rows that stand before the turn's last row. */
  readonly context: readonly Row[];
  readonly log: readonly Step[];
  /** The tickets it waited for when it was parked; empty otherwise. */
  readonly tickets: readonly string[];
  /** The reason of the stop, once one was asked for. */
  readonly stop: string | null;
}

export interface Park {
  readonly tickets: readonly string[];
  /**
   * `answer`: only a ticket's row or the deadline wakes it. `any`: so does any row of the same conversation
   * and authority that has no ticket of its own.
   */
  readonly wake: "answer" | "any";
  readonly untilMs: number;
}

export interface Commit {
  /** `dead` buries the rows; the notice about it is one of `deliveries`. */
  readonly outcome: Outcome;
  readonly reason?: string;
  /** JSON texts, appended to the transcript in this order. */
  readonly entries: readonly string[];
  readonly deliveries?: readonly NewDelivery[];
  /** Rows for other lanes, for example a subagent's answer to its parent. */
  readonly rows?: readonly NewRow[];
  /** Session fields to set, for example usage or model. */
  readonly patch?: { readonly [field: string]: Json };
  /** Seq of the last context row that the turn consumed; those through it end as `context`. */
  readonly contextThrough?: number;
  /** Cells to write in the same transaction without a condition, for example consumed approvals. */
  readonly cells?: readonly CellWrite[];
}

interface Checkpoint {
  readonly steps: readonly Step[];
  readonly deliveries?: readonly NewDelivery[];
  /** Rows for other lanes, for example a sub-agent's first one. Like cells they need a step beside them. */
  readonly rows?: readonly NewRow[];
  /** Consuming an approval and logging the tool's intent are one transaction. */
  readonly cells?: readonly CellWrite[];
}

/** A turn as operators see it, open or ended; kept as long as its rows. */
export interface TurnView {
  readonly id: string;
  readonly lane: SessionKey;
  readonly state: "running" | "parked" | "done";
  readonly attempt: number;
  readonly openedAtMs: number;
  readonly endedAtMs: number | null;
  readonly tickets: readonly string[];
  readonly stop: string | null;
  /** Steps of an open turn so far; the commit makes entries of them. */
  readonly log: readonly Step[];
  /** The entries that a committed turn added to the transcript, at most the last 1,000. */
  readonly entries: readonly StoredEntry[];
}

export interface Turns extends Lanes<Turn> {
  /** Null when there is no turn with this id, or no longer. */
  find(turn: string): Promise<TurnView | null>;
  /**
   * Claims the waiting prefix of the turn's conversation and authority and logs the step `absorbed` at
   * position `at`. A repeat with the same `at` returns the same rows. Nothing joins a turn of a
   * barrier row or of a split, except with `evenAlone`: a person told these rows to join it.
   */
  absorb(
    lease: Lease,
    at: number,
    maxRows: number,
    how?: { readonly evenAlone?: boolean },
  ): Promise<readonly Row[]>;
  /**
   * Appends steps at position `at`, queues deliveries, accepts rows and writes cells in one transaction;
   * returns the log's length. The attempt count goes back to 1.
   */
  checkpoint(lease: Lease, at: number, what: Checkpoint): Promise<number>;
  /**
   * Tells the store that the holder lives, so that its lost lease does not count as a death: the attempt
   * count of a turn that is held goes back to 1, and for one whose lease ran out the store takes back what
   * its next holder counted. Never refuses.
   */
  lived(lease: Lease): Promise<void>;
  /**
   * Separates the rows of a turn in which processes die: all but the first wait again at their places, each
   * for a turn of its own that begins with this one's attempt count. A turn whose log holds more than
   * previews and absorbed rows keeps its rows, because a step has already read them. Nothing joins the turn
   * from then on. Returns the turn as it is now.
   */
  split(lease: Lease): Promise<Turn>;
  /** Frees the slot and keeps rows and log. Sees an answer that came before the park. */
  park(lease: Lease, how: Park): Promise<void>;
  /**
   * All or nothing: transcript, rows ended, deliveries and rows handed over, session patch, turn closed, lane
   * free. A repeat by the same holder returns the same seq.
   */
  commit(lease: Lease, turn: string, what: Commit): Promise<{ readonly seq: number }>;
}
