// A handle on one lease: renews it in time and aborts the work when it is lost. Keeps the holder's half of
// I3: before anything that outlives the process (a send, a tool) the holder calls `cover`, so that no
// take-over can happen meanwhile.
import { Fault, isFault, type Clock } from "@parley/protocol";
import type { Lease, Lanes } from "@parley/store";

export interface LeaseHandle {
  /**
   * Aborts when the lease is lost (reason Fault "conflict") or the runner drains (reason Fault "aborted").
   */
  readonly signal: AbortSignal;
  /** Number of rows that waited in the lane at the last renewal. */
  waiting(): number;
  /** Renews now and returns the number of waiting rows. Throws Fault("conflict") once the lease is lost. */
  renew(): Promise<number>;
  /**
   * Extends the lease, if need be, past the next `forMs` milliseconds. Throws Fault("conflict") once it is
   * lost.
   */
  cover(forMs: number): Promise<void>;
}

export interface LeaseHandleOptions {
  readonly lanes: Pick<Lanes<Lease>, "extend">;
  readonly lease: Lease;
  readonly leaseMs: number;
  readonly clock: Clock;
}

export interface HeldLease extends LeaseHandle {
  /** Aborts the work with this reason. */
  abort(reason: Fault): void;
  /** Stops renewing. Does not release the lease. */
  end(): void;
}

/** Starts renewing a lease that was granted just now. */
export function holdLease(options: LeaseHandleOptions): HeldLease {
  const { lanes, lease, leaseMs, clock } = options;
  const controller = new AbortController();
  let expiresAtMono = clock.mono() + leaseMs;
  let waiting = 0;
  let ended = false;

  const abort = (reason: Fault): void => {
    if (!controller.signal.aborted) controller.abort(reason);
  };

  const extend = async (forMs: number): Promise<number> => {
    if (controller.signal.aborted && isFault(controller.signal.reason, "conflict"))
      throw controller.signal.reason;
    // The store counts from when it handles the call, so counting from before the call is the safe side.
    const askedAtMono = clock.mono();
    try {
      waiting = await lanes.extend(lease, forMs);
    } catch (error) {
      if (isFault(error, "conflict")) abort(error);
      throw error;
    }
    expiresAtMono = Math.max(expiresAtMono, askedAtMono + forMs);
    return waiting;
  };

  const renewLater = (): { cancel(): void } =>
    clock.after(leaseMs / 3, () => {
      if (ended) return;
      timer = renewLater();
      extend(Math.max(leaseMs, expiresAtMono - clock.mono())).catch((error: unknown) => {
        // A store that cannot answer now may answer the next renewal; the lease is lost only when its time is
        // over.
        if (!isFault(error, "conflict") && clock.mono() >= expiresAtMono) {
          abort(
            new Fault("conflict", `the lease of ${lease.lane} ran out while the store did not answer`, {
              cause: error,
            }),
          );
        }
      });
    });
  let timer = renewLater();

  return {
    signal: controller.signal,
    waiting: () => waiting,
    renew: () => extend(Math.max(leaseMs, expiresAtMono - clock.mono())),
    async cover(forMs) {
      if (controller.signal.aborted) throw controller.signal.reason;
      if (expiresAtMono - clock.mono() < forMs) await extend(forMs + leaseMs);
    },
    abort,
    end() {
      ended = true;
      timer.cancel();
    },
  };
}
