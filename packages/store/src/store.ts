// The contract of the durable core: narrow ports made of verbs. Every driver keeps it, and one suite checks
// it. Keeps I1-I4 and the store's half of I5-I7 and I11. Every verb that takes a lease throws
// Fault("conflict") when the lease is lost; the holder then stops and writes nothing. Expiry alone never
// refuses a write; only a newer token, a release or a stop does. Every verb may be called twice with the same
// arguments (a lost answer, a reconnect) and then changes nothing more, except `take`, `stop` and
// `cells.put`.
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

// ---- lanes: the shared part of turns and outbox ----

/**
 * A claim on one lane. Plain data that survives a process boundary; it is worth nothing without the store's
 * check.
 */
export interface Lease {
  readonly lane: string;
  /** The fencing token. It grows with every lease of the lane, also over deletion and fail-over. */
  readonly token: number;
  readonly holder: string;
  readonly term?: number;
}

export interface Want {
  /**
   * Separates kinds of work: `main`, `cron`, `subagent` or `heartbeat` for turns, the account
   * (`telegram:default`) for the outbox.
   */
  readonly pool: string;
  readonly holder: string;
  readonly leaseMs: number;
  readonly maxRows: number;
  /**
   * Version of the cell `leader:<pool>`. Where that cell exists, the outbox refuses any other term with
   * Fault("conflict").
   */
  readonly term?: number;
}

/**
 * There is nothing to lease now. `nextAtMs` is when a lane may become due; null when only a wake hint can
 * change it.
 */
export interface Idle {
  readonly idle: true;
  readonly nextAtMs: number | null;
}

export interface Release {
  readonly afterMs: number;
  readonly reason: string;
  /** Takes the attempt back: a drain, an abort or a model outage is no strike. */
  readonly refund?: boolean;
}

export interface LaneView {
  readonly lane: string;
  readonly pool: string;
  /** Due time, lease expiry or park deadline; null when there is nothing to do. */
  readonly atMs: number | null;
  readonly holder: string | null;
  readonly token: number;
  /** Waiting rows or deliveries, counted up to 1,000. */
  readonly waiting: number;
}

export interface Lanes<L extends Lease> {
  /**
   * Leases the free lane of the pool that has been runnable longest (I15). First raises the lane's token and
   * the work's attempt count.
   */
  take(want: Want): Promise<L | Idle>;
  /**
   * Renews the lease and returns how many unclaimed rows wait in the lane, which tells a turn whether to
   * absorb.
   */
  extend(lease: Lease, leaseMs: number): Promise<number>;
  /** Gives the lane back. Unfinished work stays first in it, and the whole lane waits `afterMs`. */
  release(lease: Lease, how: Release): Promise<void>;
  /** For status and metrics, oldest first. */
  list(pool: string | undefined, limit: number): Promise<readonly LaneView[]>;
}

// ---- inbox: the producer's side ----

export type As =
  /** `ticket`: this row answers a parked turn. `barrier`: absorb never reads past this row (/new, /model). */
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

// ---- turns: the consumer's side of the inbox ----

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
   * and authority.
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

export interface CellWrite {
  readonly key: string;
  /** Null deletes the cell. */
  readonly value: string | null;
  readonly ttlMs?: number;
  /**
   * Refuses the whole verb with Fault("conflict") when the cell has another version; 0 means that it must be
   * absent.
   */
  readonly expect?: number;
}

interface Checkpoint {
  readonly steps: readonly Step[];
  readonly deliveries?: readonly NewDelivery[];
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
   * position `at`. A repeat with the same `at` returns the same rows.
   */
  absorb(lease: Lease, at: number, maxRows: number): Promise<readonly Row[]>;
  /**
   * Appends steps at position `at` and queues deliveries in one transaction; returns the log's length. The
   * attempt count goes back to 1.
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

// ---- outbox ----

/**
 * Before its first send a delivery has one part, which is not rendered; the first change's `split` replaces
 * it with the rendered messages.
 */
export interface DeliveryPart {
  /** JSON text that no driver reads. */
  readonly content: string;
  /** Edits the message that part `<delivery>/<n>` produced, if that was sent. */
  readonly into?: string;
}

export interface NewDelivery {
  /** Deterministic: `<turn>/<n>` or `notice:<row>`. A repeat changes nothing. */
  readonly id: string;
  readonly pool: string;
  readonly lane: ConversationKey;
  readonly parts: readonly DeliveryPart[];
  /** Id of the row or turn that caused it, for `why`. */
  readonly cause: string;
  /**
   * A preview. After it was sent it keeps the head of its lane until a delivery that `closes` it is queued.
   */
  readonly open?: boolean;
  /**
   * Id of an open preview, whose place in the lane this delivery takes in the same transaction. A preview
   * part that has not begun fails as superseded; one that has begun is settled first. When the id is unknown
   * or closed already, this is an ordinary delivery.
   */
  readonly closes?: string;
  /**
   * The answer of a command. It waits for the reply at the head of its lane (everything queued under that
   * cause) and for earlier such answers, and goes before the other waiting replies (I4).
   */
  readonly passes?: boolean;
}

export type PartState = "queued" | "sending" | "sent" | "failed" | "ambiguous";

export interface PartView extends DeliveryPart {
  readonly state: PartState;
  /**
   * The lease token that set `sending`. When it is older than the current lease's token, the outcome is
   * unknown.
   */
  readonly token: number;
  readonly startedAtMs: number;
  readonly attempts: number;
  readonly resends: number;
  /** The receipt as JSON text. */
  readonly receipt: string | null;
  readonly intoReceipt: string | null;
  readonly reason: string | null;
  /** True after a resend of an unknown outcome: people may have seen it twice. */
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
 * `queued` means certainly not sent. `attempt` is `attempts` + 1; the current attempt again under the same
 * token is a repeat. Setting `sending` from `sending` or `ambiguous` is a resend. Without `idempotent`
 * (nonce, edits) a part may be resent once, and the resend flags it.
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
  /** Only finished deliveries that failed or stayed ambiguous and were not dropped. */
  readonly troubled?: boolean;
  /** A substring of a part's receipt, to find what sent a platform message. Scans. */
  readonly receipt?: string;
  readonly limit: number;
}

export interface Outbox extends Lanes<DeliveryBatch> {
  /** Queues deliveries that no turn commits: command answers, pairing codes, notices. Idempotent by id. */
  post(deliveries: readonly NewDelivery[]): Promise<void>;
  /**
   * Journals part states in order; "settle this, start the next" is one call. Refuses a lost lease, an old
   * term, a part before its predecessors ended, and a delivery that is not its lane's head (I4), and then
   * changes nothing.
   */
  record(lease: Lease, changes: readonly Change[]): Promise<void>;
  /** Newest first. */
  find(filter: DeliveryFilter): Promise<readonly DeliveryView[]>;
  /**
   * For operators: fails parts that have not begun, with this reason; finished deliveries leave the troubled
   * list. To retry one, post a copy.
   */
  drop(ids: readonly string[], reason: string): Promise<number>;
}

// ---- sessions, cells, events ----

export interface Session {
  readonly key: SessionKey;
  /** Grows with every reset. Entries carry the epoch in which their turn was opened. */
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
  /** Gets the session or creates it, atomically. */
  open(key: SessionKey): Promise<Session>;
  /** Sets single fields; null removes one. */
  patch(key: SessionKey, patch: { readonly [field: string]: Json }): Promise<Session>;
  list(filter: {
    readonly prefix?: string;
    readonly sinceMs?: number;
    readonly limit: number;
  }): Promise<readonly Session[]>;
  /** Begins a new epoch and deletes nothing. A turn that was opened before commits into its own epoch. */
  reset(key: SessionKey): Promise<Session>;
  /**
   * Begins a new epoch and deletes the entries of all earlier ones for good; `entries` counts them. In the
   * same transaction the field `record` gets `{atMs, entries}` (I11). Entries that an older turn commits
   * later stay.
   */
  forget(key: SessionKey, record: string): Promise<{ readonly session: Session; readonly entries: number }>;
  /** Oldest first. Default: the current epoch from its start. */
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

/** Small versioned values with expiry: pairings, approvals, idempotency keys, schedules, leadership. */
export interface Cells {
  get(key: string): Promise<Cell | null>;
  /**
   * `expect` 0 means must be absent, n must be that version, absent any. Returns null when refused. Versions
   * of a key only grow, also over deletion and expiry, so the version of `leader:<pool>` is its fencing term.
   */
  put(
    key: string,
    value: string,
    how: { readonly expect?: number; readonly ttlMs?: number },
  ): Promise<Cell | null>;
  /** Renews the expiry and keeps the version. False when the version is not current. */
  touch(key: string, version: number, ttlMs: number): Promise<boolean>;
  remove(key: string, version?: number): Promise<boolean>;
  list(prefix: string, limit: number): Promise<readonly Cell[]>;
}

export interface StoredEvent {
  readonly seq: number;
  /** The readers it is for: a conversation key, or `control`. */
  readonly stream: string;
  readonly atMs: number;
  /** JSON text. */
  readonly body: string;
}

/** The bounded event log that clients replay from. One seq orders all streams. */
export interface Events {
  /**
   * Unique by `id`: a repeat returns the seq of the first call. The oldest events beyond the bound are
   * deleted.
   */
  append(stream: string, id: string, body: string): Promise<number>;
  /** Events of a stream after `seq`, oldest first. `gone` is set when `seq` is older than the kept events. */
  after(
    stream: string,
    seq: number,
    limit: number,
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly gone: boolean; readonly lastSeq: number }>;
  /** The newest `limit` events of a stream, oldest first. */
  newest(stream: string, limit: number): Promise<readonly StoredEvent[]>;
}

/** The store that a home remembers, with advice for a person when another store is there, or none. */
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
  /**
   * Hints that `take` on this pool may succeed now or at `atMs`, with the lane where the driver knows it.
   * Covers only what this handle wrote; a hint may be lost, late or spurious. Returns a function that stops
   * listening.
   */
  onReady(wake: (pool: string, lane?: string, atMs?: number) => void): () => void;
  /** Runs one bounded slice of retention. True when more is left. */
  sweep(limit: number): Promise<boolean>;
  /** Counts dead rows that nobody dismissed, and troubled deliveries, each up to 1,000. */
  troubled(): Promise<{ readonly rows: number; readonly deliveries: number }>;
  /** Writes and reads a probe. `danger` is set when the store works but may lose what it stored. */
  check(): Promise<
    { readonly ok: true; readonly danger?: string } | { readonly ok: false; readonly reason: string }
  >;
  close(): Promise<void>;
}
