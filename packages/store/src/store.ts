// The contract of the durable core: narrow ports made of verbs. Every driver keeps it, and one suite checks
// it. Keeps I1-I4 and the store's half of I5-I7 and I11. Every verb that takes a lease throws
// Fault("conflict") when the lease is lost; the holder then stops and writes nothing. Expiry alone never
// refuses a write; only a newer token, a release or a stop does. Every verb may be called twice with the same
// arguments (a lost answer, a reconnect) and then changes nothing more, except `take`, `stop` and
// `cells.put`.
import type { Cells } from "./ports/cells.ts";
import type { Events } from "./ports/events.ts";
import type { Inbox } from "./ports/inbox.ts";
import type { Outbox } from "./ports/outbox.ts";
import type { Scrubbed, StoredRecord, Verdict } from "./ports/records.ts";
import type { Sessions } from "./ports/sessions.ts";
import type { Turns } from "./ports/turns.ts";

export * from "./ports/cells.ts";
export * from "./ports/events.ts";
export * from "./ports/inbox.ts";
export * from "./ports/lanes.ts";
export * from "./ports/outbox.ts";
export * from "./ports/records.ts";
export * from "./ports/sessions.ts";
export * from "./ports/turns.ts";

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
  /**
   * Rewrites every stored text for which `change` returns another one, wherever it stands, and leaves no byte
   * of the old one behind (I11: the caller records that it did). Returns their number. Absent: unsupported.
   */
  redact?(change: (stored: string) => string | null): Promise<number>;
  /**
   * Shows every stored record to the judge and, with `write`, does what it says and leaves no byte of the
   * rest behind, as `redact`. Without, it only counts. What is stored meanwhile may be missed. Absent:
   * unsupported.
   */
  scrub?(judge: (record: StoredRecord) => Verdict, write: boolean): Promise<Scrubbed>;
  /** Counts dead rows that nobody dismissed, and troubled deliveries, each up to 1,000. */
  troubled(): Promise<{ readonly rows: number; readonly deliveries: number }>;
  /** Writes and reads a probe. `danger` is set when the store works but may lose what it stored. */
  check(): Promise<
    { readonly ok: true; readonly danger?: string } | { readonly ok: false; readonly reason: string }
  >;
  close(): Promise<void>;
}
