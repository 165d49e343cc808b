// Repeats a holder's write while the store is unavailable and the lease is held, so that a full disk does not
// lose what was done. Keeps I5 and I7: a reply that was sent is recorded, and a tool that ran has its result.
import { isFault, sleep, type Clock } from "@parley/protocol";
import type { LeaseHandle } from "./lease-handle.ts";

const againMs = 500;

/**
 * Runs a store call and repeats it after Fault("unavailable"), which means that nothing was written. Any
 * other failure, and that one once the work is aborted, goes to the caller.
 */
export async function untilStored<T>(
  lease: Pick<LeaseHandle, "signal">,
  clock: Clock,
  write: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isFault(error, "unavailable") || lease.signal.aborted) throw error;
      await sleep(clock, againMs, lease.signal);
    }
  }
}
