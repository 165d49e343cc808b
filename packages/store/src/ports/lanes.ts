// The port of lanes, which turns and outbox share: lease, renew, release (I3, I15).

/**
 * A claim on one lane. Plain data that survives a process boundary; it is worth nothing without the store's
 * check.
 */
export interface Lease {
  readonly lane: string;
  /** The fencing token. It grows with every lease of the lane, also over deletion and fail-over. */
  readonly token: number;
  readonly holder: string;
  readonly term?: number | undefined;
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
  readonly term?: number | undefined;
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
