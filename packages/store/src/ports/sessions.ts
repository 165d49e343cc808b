// The port of sessions and their transcripts, which only grow (I11).
import type { Json, SessionKey } from "@parley/protocol";

export interface Session {
  readonly key: SessionKey;
  /** Grows with every reset. Entries carry the epoch in which their turn was opened. */
  readonly epoch: number;
  readonly lastSeq: number;
  /** `rewritten` grows when a redaction changed its entries. */
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
  /** Deletes the entries of the epochs before this one for good, and returns how many they were. */
  trim(key: SessionKey, beforeEpoch: number): Promise<number>;
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
