// The port of cells: small versioned values with expiry, written alone or with a turn.

export interface Cell {
  readonly key: string;
  readonly value: string;
  readonly version: number;
  readonly expiresAtMs: number | null;
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
