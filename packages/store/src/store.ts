// The contract of the durable core: narrow ports of verbs, not tables; every driver keeps it and one suite checks it.
// Keeps I1-I4 and the store's half of I5-I7 and I11. Every verb that takes a lease throws Fault("conflict") when the lease is
// lost: the holder then stops and writes nothing. Expiry alone never refuses a write; only a newer token, a release or a stop does.
// Every verb may be called twice with the same arguments (a lost answer, a reconnect) and then changes nothing more,
// except `take`, `stop` and `cells.put`.
import type { ConversationKey, Json, SessionKey } from "@parley/protocol";

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

// ---- lanes: the one generic part, used twice (turns, outbox) ----

/** A claim on one lane. Plain data: it survives a process boundary and means nothing without the store's check. */
export interface Lease {
  readonly lane: string;
  /** The fencing token: grows with every lease of the lane, also over purge and fail-over. */
  readonly token: number;
  readonly holder: string;
  readonly term?: number;
}

export interface Want {
  /** Separates kinds of work: `main`, `cron`, `subagent`, `heartbeat`; for the outbox the account, `telegram:default`. */
  readonly pool: string;
  readonly holder: string;
  readonly leaseMs: number;
  readonly maxRows: number;
  /** Version of the cell `leader:<pool>`. Where that cell exists the outbox refuses any other term with Fault("conflict"). */
  readonly term?: number;
}

/** Nothing to lease now. `nextAtMs`: when a lane may become due; null when only a wake can change it. */
export interface Idle {
  readonly idle: true;
  readonly nextAtMs: number | null;
}

export interface Release {
  readonly afterMs: number;
  readonly reason: string;
  /** Gives the attempt back: a drain, an abort, a model outage is no strike. */
  readonly refund?: boolean;
}

export interface LaneView {
  readonly lane: string;
  readonly pool: string;
  /** Due time, lease expiry or park deadline; null when nothing is to be done. */
  readonly atMs: number | null;
  readonly holder: string | null;
  readonly token: number;
  /** Rows or deliveries that wait; counted up to 1,000. */
  readonly waiting: number;
}

export interface Lanes<L extends Lease> {
  /** Leases the free lane of the pool that has been runnable longest (I15). Raises the lane's token, and the work's attempt count, first. */
  take(want: Want): Promise<L | Idle>;
  /** Renews; returns how many rows wait unclaimed in the lane: the peek that steering needs. */
  extend(lease: Lease, leaseMs: number): Promise<number>;
  /** Gives the lane back; work not finished stays first in it and the whole lane waits `afterMs`. */
  release(lease: Lease, how: Release): Promise<void>;
  /** For status and metrics; oldest first. */
  list(pool: string | undefined, limit: number): Promise<readonly LaneView[]>;
}

// ---- inbox: the producer's side ----

export type As =
  /** `ticket`: this row answers a parked turn. `barrier`: absorb never reads past it (/new, /model). */
  | { readonly kind: "work"; readonly afterMs?: number; readonly ticket?: string; readonly barrier?: boolean }
  /** Replaces the payload of the row with the same subject, if that has not started. */
  | { readonly kind: "edit" }
  /** Bounded to the newest `keep` of the lane; never makes the lane due. */
  | { readonly kind: "context"; readonly keep: number }
  /** Terminal at birth: refused, commanded, dead. */
  | { readonly kind: "closed"; readonly outcome: Outcome; readonly reason: string };

export interface NewRow {
  /** `channel:account:event`; a cron slot is `cron:<job>:<instant>`: its uniqueness is the fired-slot rule. First guard. */
  readonly id: string;
  /** `account/chat/message`; with `version` the second guard. A ticket's row has `ticket:<id>`, which makes it single-shot. */
  readonly subject?: string;
  /** Edit date, 0 for the original. */
  readonly version?: number;
  readonly pool: string;
  readonly lane: SessionKey;
  /** Where its answer goes (I6). */
  readonly conversation: ConversationKey;
  /** Hash of the effective tool policy and owner flag: a turn holds rows of one authority only. */
  readonly authority: string;
  readonly as: As;
  /** JSON text, opaque to every driver. */
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
  /** `late`: the edit's row had started already. `duplicate`: id or guard was known; nothing was stored. */
  readonly verdict: "queued" | "replaced" | "context" | "closed" | "late" | "duplicate";
  /** Rows that wait in the lane now, counted up to 1,000. */
  readonly waiting: number;
}

export interface Stop {
  /** Raises the fence of this turn (or of the open one, for "open"); the next holder gets it with `stop` set and closes it by commit. */
  readonly turn?: string;
  /** Ends waiting rows: outcome `stopped`, or the one given in `outcome`. */
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
  /** The turn that was told to stop; null when none was open. */
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
  /** Dead rows that an operator dismissed are left out unless asked for. */
  readonly dismissed?: boolean;
  /** Substring of the payload, for `why <text>`; newest first, a scan. */
  readonly text?: string;
  /** The platform's message id: what the subject ends in after a slash. A scan. */
  readonly message?: string;
  readonly limit: number;
}

export interface Inbox {
  /** Durable once resolved; acknowledge the platform only then. One transaction, in the given order. */
  accept(rows: readonly NewRow[]): Promise<readonly Accepted[]>;
  /** /stop, interrupt, cancel, drop policies: one atomic step. */
  stop(lane: SessionKey, what: Stop): Promise<Stopped>;
  /** Newest first. A dead row is retried by accepting a copy under a new id: a terminal state is never left. */
  find(filter: RowFilter): Promise<readonly RowView[]>;
  /** Takes dead rows off the operator's list. */
  dismiss(ids: readonly string[]): Promise<number>;
}

// ---- turns: the consumer's side of the inbox ----

/** One logged thing that a turn did. `absorbed` steps are written by the store: body is the JSON list of row ids. */
export interface Step {
  readonly kind: "model" | "intent" | "result" | "summary" | "preview" | "absorbed";
  readonly body: string;
}

export interface Turn extends Lease {
  /** `<lane>#<token that opened it>`, kept over every resume. */
  readonly id: string;
  /** Holds of it that nobody lived to end, this one counted in: raised by take where the holder before is not the one that takes, back
   *  to 1 after a checkpoint, and by `lived`. */
  readonly attempt: number;
  readonly epoch: number;
  readonly pool: string;
  readonly conversation: ConversationKey;
  readonly authority: string;
  readonly openedAtMs: number;
  /** In the order claimed, absorbed ones last. */
  readonly rows: readonly Row[];
  /** Context rows that stand before the turn's last row. */
  readonly context: readonly Row[];
  readonly log: readonly Step[];
  /** Waited for when it was parked; empty otherwise. */
  readonly tickets: readonly string[];
  /** Reason of the stop, once one was asked for. */
  readonly stop: string | null;
}

export interface Park {
  readonly tickets: readonly string[];
  /** `answer`: only a ticket row or the deadline wakes it; `any`: also any row of the same conversation and authority. */
  readonly wake: "answer" | "any";
  readonly untilMs: number;
}

export interface Commit {
  /** `dead` buries; its notice is one of `deliveries`. */
  readonly outcome: Outcome;
  readonly reason?: string;
  /** Appended to the transcript, in order; JSON text. */
  readonly entries: readonly string[];
  readonly deliveries?: readonly NewDelivery[];
  /** For other lanes: a subagent's answer to its parent. */
  readonly rows?: readonly NewRow[];
  /** Session fields: usage, model. */
  readonly patch?: { readonly [field: string]: Json };
  /** Seq of the last context row that the turn consumed; these end as `context`. */
  readonly contextThrough?: number;
  /** Cells written in the same transaction: approvals consumed, previews closed. Unconditional. */
  readonly cells?: readonly CellWrite[];
}

export interface CellWrite {
  readonly key: string;
  /** Null removes it. */
  readonly value: string | null;
  readonly ttlMs?: number;
  /** Refuses the whole verb with Fault("conflict") when the cell's version differs; 0 = must be absent. */
  readonly expect?: number;
}

export interface Checkpoint {
  readonly steps: readonly Step[];
  readonly deliveries?: readonly NewDelivery[];
  /** Approval consumption and the tool's intent step are one transaction. */
  readonly cells?: readonly CellWrite[];
}

/** A turn as operators see it, open or ended; kept as long as its rows are. */
export interface TurnView {
  readonly id: string;
  readonly lane: SessionKey;
  readonly state: "running" | "parked" | "done";
  readonly attempt: number;
  readonly openedAtMs: number;
  readonly endedAtMs: number | null;
  readonly tickets: readonly string[];
  readonly stop: string | null;
  /** What an open turn did so far; the commit turns it into entries. */
  readonly log: readonly Step[];
  /** What a committed turn added to the transcript; at most its last 1,000. */
  readonly entries: readonly StoredEntry[];
}

export interface Turns extends Lanes<Turn> {
  /** By its id; null when there is none, or none any more. */
  find(turn: string): Promise<TurnView | null>;
  /** Claims the waiting prefix of the turn's conversation and authority and logs step `absorbed` at position `at`. Repeat with the same `at`: same rows. */
  absorb(lease: Lease, at: number, maxRows: number): Promise<readonly Row[]>;
  /** Appends steps at position `at` and queues deliveries in one step; returns the log's length. The attempt count goes back to 1. */
  checkpoint(lease: Lease, at: number, what: Checkpoint): Promise<number>;
  /** The holder lives, so this hold was no death: the attempt count of a turn that is held goes back to 1; of one whose lease ran out, what
   *  its next holder counted for it is taken back. Refuses nothing. */
  lived(lease: Lease): Promise<void>;
  /** Finds the one row of several in which processes die: all but the first wait again, at their places, each to be a turn of its own that
   *  begins with this one's count. Once its log has more than previews and absorbed rows, a step has read them all: then it keeps them.
   *  Nothing joins the turn from then on. Returns it as it is now. */
  split(lease: Lease): Promise<Turn>;
  /** Frees the slot, keeps rows and log. An answer that came before the park is seen by it. */
  park(lease: Lease, how: Park): Promise<void>;
  /** All or nothing: transcript, rows ended, deliveries and rows handed over, patch, turn gone, lane free. A repeat by the same holder returns the same seq. */
  commit(lease: Lease, turn: string, what: Commit): Promise<{ readonly seq: number }>;
}

// ---- outbox ----

/** Before the first sending a delivery has one part, what is meant; `split` in its first change puts the rendered messages in its place. */
export interface DeliveryPart {
  /** JSON text, opaque to every driver. */
  readonly content: string;
  /** Edits the message that part `<delivery>/<n>` produced, if that was sent. */
  readonly into?: string;
}

export interface NewDelivery {
  /** Deterministic: `<turn>/<n>`, `notice:<row>`. A repeat is a no-op. */
  readonly id: string;
  readonly pool: string;
  readonly lane: ConversationKey;
  readonly parts: readonly DeliveryPart[];
  /** What caused it: a row id or turn id, for `why`. */
  readonly cause: string;
  /** A preview: once its part is sent it goes on holding the head of its lane, until a delivery that `closes` it is queued. */
  readonly open?: boolean;
  /** Id of an open delivery. This one takes its place in the lane, in the same transaction. The open part, if not begun, fails as
   *  superseded; if begun, it is settled first. Unknown or already closed: this is an ordinary delivery. */
  readonly closes?: string;
  /** The answer of a command: it waits for the reply at the head of its lane (all that is queued under that cause) and for such answers before
   *  it, and goes before the other replies that wait there (I4). */
  readonly passes?: boolean;
}

export type PartState = "queued" | "sending" | "sent" | "failed" | "ambiguous";

export interface PartView extends DeliveryPart {
  readonly state: PartState;
  /** Lease token that set `sending`. `sending` under an older token than the lease's: outcome unknown. */
  readonly token: number;
  readonly startedAtMs: number;
  readonly attempts: number;
  readonly resends: number;
  /** JSON text of the receipt. */
  readonly receipt: string | null;
  readonly intoReceipt: string | null;
  readonly reason: string | null;
  /** A resend was made after an unknown outcome: people may have seen it twice. */
  readonly flagged: boolean;
}

export interface DeliveryView {
  readonly id: string;
  readonly pool: string;
  readonly lane: ConversationKey;
  readonly cause: string;
  readonly open: boolean;
  readonly done: boolean;
  readonly createdAtMs: number;
  readonly split: boolean;
  readonly parts: readonly PartView[];
}

export interface DeliveryBatch extends Lease {
  /** In order; only the first may change. */
  readonly deliveries: readonly DeliveryView[];
}

/**
 * `queued` = certainly not sent. `attempt` = attempts + 1; the current attempt again under the same token is a repeat.
 * `sending` from `sending` or `ambiguous` is a resend: once a part, unless `idempotent` (nonce, edits); it flags the part unless idempotent.
 */
export type Change = { readonly delivery: string; readonly part: number } & (
  | {
      readonly to: "sending";
      readonly attempt: number;
      readonly idempotent?: boolean;
      readonly split?: readonly DeliveryPart[];
    }
  | { readonly to: "sent"; readonly receipt: string }
  | { readonly to: "queued" | "failed" | "ambiguous"; readonly reason: string }
);

export interface DeliveryFilter {
  readonly lane?: ConversationKey;
  readonly id?: string;
  readonly cause?: string;
  readonly state?: PartState;
  /** Finished ones that failed or stayed ambiguous and were not dropped. */
  readonly troubled?: boolean;
  /** Substring of a part's receipt, to find what a platform's message came from; a scan. */
  readonly receipt?: string;
  readonly limit: number;
}

export interface Outbox extends Lanes<DeliveryBatch> {
  /** For deliveries that no turn commits: command answers, pairing codes, notices. Idempotent by id. */
  post(deliveries: readonly NewDelivery[]): Promise<void>;
  /** Journals part states in order; "settle this, start the next" is one call. Refuses, changing nothing: a lost lease, an old term, a part
   *  before its predecessors ended, a delivery that is not its lane's head (I4). */
  record(lease: Lease, changes: readonly Change[]): Promise<void>;
  /** Newest first. */
  find(filter: DeliveryFilter): Promise<readonly DeliveryView[]>;
  /** Operator: parts not begun become failed with this reason; finished deliveries leave the troubled list. Retry = post a copy. */
  drop(ids: readonly string[], reason: string): Promise<number>;
}

// ---- sessions, cells, events ----

export interface Session {
  readonly key: SessionKey;
  /** Grows with every reset; entries carry the epoch in which their turn was opened. */
  readonly epoch: number;
  readonly lastSeq: number;
  readonly fields: { readonly [field: string]: Json };
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface StoredEntry {
  readonly seq: number;
  readonly epoch: number;
  readonly turn: string;
  readonly body: string;
}

export interface Sessions {
  /** Get or create. Atomic. */
  open(key: SessionKey): Promise<Session>;
  /** Field-wise; null removes a field. */
  patch(key: SessionKey, patch: { readonly [field: string]: Json }): Promise<Session>;
  list(filter: {
    readonly prefix?: string;
    readonly sinceMs?: number;
    readonly limit: number;
  }): Promise<readonly Session[]>;
  /** New epoch; nothing is deleted. A turn opened before it commits into the epoch in which it was opened. */
  reset(key: SessionKey): Promise<Session>;
  /** A new epoch, and the entries of all before it leave for good; `entries` is how many. The field `record` tells of it from the same moment on:
   *  `{atMs, entries}` (I11). What a turn opened before it adds stays. */
  forget(key: SessionKey, record: string): Promise<{ readonly session: Session; readonly entries: number }>;
  /** Oldest first. Default: the current epoch, from its start. */
  transcript(
    key: SessionKey,
    from: {
      readonly afterSeq?: number;
      readonly epoch?: number;
      readonly newest?: boolean;
      readonly limit: number;
    },
  ): Promise<readonly StoredEntry[]>;
}

export interface Cell {
  readonly key: string;
  readonly value: string;
  readonly version: number;
  readonly expiresAtMs: number | null;
}

/** Small versioned values with expiry: pairing books, approvals, idempotency keys, schedules, leadership. */
export interface Cells {
  get(key: string): Promise<Cell | null>;
  /** `expect` 0 = must be absent, n = must be that version, absent = any. Null when refused. Versions of a key only grow, also over
   *  deletion and expiry, so the version of `leader:<pool>` is its fencing term. */
  put(
    key: string,
    value: string,
    how: { readonly expect?: number; readonly ttlMs?: number },
  ): Promise<Cell | null>;
  /** Renews the expiry, keeps the version. False when the version is not current. */
  touch(key: string, version: number, ttlMs: number): Promise<boolean>;
  remove(key: string, version?: number): Promise<boolean>;
  list(prefix: string, limit: number): Promise<readonly Cell[]>;
}

export interface StoredEvent {
  readonly seq: number;
  /** Who may see it: a conversation key, or `control`. */
  readonly stream: string;
  readonly atMs: number;
  /** JSON text. */
  readonly body: string;
}

/** The bounded event log that clients replay from. Seq is one order over all streams. */
export interface Events {
  /** Unique by `id`: a repeat returns the seq that the first got. Older events beyond the bound leave. */
  append(stream: string, id: string, body: string): Promise<number>;
  /** Events of a stream after `seq`, oldest first; `gone` when `seq` is older than what is kept. */
  after(
    stream: string,
    seq: number,
    limit: number,
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly gone: boolean; readonly lastSeq: number }>;
  /** The newest `limit` events of a stream, oldest first. */
  newest(stream: string, limit: number): Promise<readonly StoredEvent[]>;
}

/** The store that a home remembers, and what a person can do where another one is there, or none. */
export interface ExpectedStore {
  readonly identity: string;
  readonly advice: string;
}

export interface Store {
  readonly inbox: Inbox;
  readonly turns: Turns;
  readonly outbox: Outbox;
  readonly sessions: Sessions;
  readonly cells: Cells;
  readonly events: Events;
  /** Hints that `take` on this pool may now succeed, or at `atMs`, and in which lane, where the driver knows. Of what this handle wrote;
   *  may be lost, late or spurious. Returns how to stop listening. */
  onReady(wake: (pool: string, lane?: string, atMs?: number) => void): () => void;
  /** One bounded slice of upkeep (retention). True when more is left. */
  sweep(limit: number): Promise<boolean>;
  /** Dead rows that nobody dismissed, and troubled deliveries; each counted up to 1,000. */
  troubled(): Promise<{ readonly rows: number; readonly deliveries: number }>;
  /** Reads and writes a probe. `danger`: it works, and may forget what it stored. */
  check(): Promise<
    { readonly ok: true; readonly danger?: string } | { readonly ok: false; readonly reason: string }
  >;
  close(): Promise<void>;
}
