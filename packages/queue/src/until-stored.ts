// What a lease holder has done must not be forgotten because the disk was full for a moment: the write is tried again as long as the lease
// is held. Keeps I5 and I7 there: a reply that was sent is recorded, a tool that ran has its result.
import { isFault, sleep, type Clock } from "@parley/protocol";
import type { LeaseHandle } from "./lease-handle.ts";

const againMs = 500;

/** Runs a verb of the store that certainly did nothing when it failed as "unavailable". Any other failure, and that one once the work is
 *  aborted, is the caller's. */
export async function untilStored<T>(
  held: Pick<LeaseHandle, "signal">,
  clock: Clock,
  write: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isFault(error, "unavailable") || held.signal.aborted) throw error;
      await sleep(clock, againMs, held.signal);
    }
  }
}
