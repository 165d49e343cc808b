// The port of the event log that web clients replay from (I9).

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
  /** The newest `limit` events of a stream, of those before `beforeSeq` where it is given; oldest first. */
  newest(stream: string, limit: number, beforeSeq?: number): Promise<readonly StoredEvent[]>;
}
