// The store shows an operator's tools everything that it holds: one plain record after the other, whatever
// table it stands in, to be kept, rewritten or removed.

export type RecordKind =
  | "session"
  | "row"
  | "turn"
  | "step"
  | "entry"
  | "delivery"
  | "part"
  | "event"
  | "cell"
  | "lane";

export interface StoredRecord {
  readonly kind: RecordKind;
  /** The key of a session, cell or lane; else the id, for steps and entries that of their turn. */
  readonly id: string;
  /** The session, conversation or stream that it belongs to; empty for cells. */
  readonly lane: string;
  /** Where the answer of a row or turn goes; empty for the others. */
  readonly conversation: string;
  /** The turn of a row, step or entry, the cause of a delivery or part; else empty. */
  readonly turn: string;
  /** Work on it has not ended; what is only kept as context for others is none. */
  readonly open: boolean;
  /** The stored texts by their names. */
  readonly texts: { readonly [name: string]: string };
}

/** What becomes of a record: it stays, goes, or has these texts in the place of its own. */
export type Verdict = "keep" | "remove" | { readonly [name: string]: string };

export interface Scrubbed {
  readonly removed: number;
  readonly rewritten: number;
}
