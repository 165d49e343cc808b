// One lease while it is held: renewed in time, and the first to know when it is lost. Keeps the holder's half of I3: whoever starts
// something that outlives the process (a send, a tool) asks `cover` first, so that no take-over can happen while it runs.
import { Fault, isFault, type Clock } from "@parley/protocol";
import type { Lease, Lanes } from "@parley/store";

export interface LeaseHandle {
  /** Aborts when the lease is lost (reason Fault "conflict") or the runner drains (reason Fault "aborted"). */
  readonly signal: AbortSignal;
  /** Rows that waited in the lane at the last renewal. */
  waiting(): number;
  /** Renews now and returns how many rows wait. Throws Fault("conflict") once the lease is lost. */
  renew(): Promise<number>;
  /** Makes sure that the lease outlives the next `forMs`. Throws Fault("conflict") once it is lost. */
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
  /** Stops renewing; the lease itself is not touched. */
  end(): void;
}

/** Takes over renewal of a lease that was granted just now. */
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
    // The store counts from when it handles the call, so measuring from before the call errs on the safe side.
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
        // A store that cannot answer right now may still answer the next renewal; the lease is over only when its time is.
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
