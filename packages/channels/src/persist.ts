// Repeats polling and setup calls until the platform answers, with waits in between. Sends never come through
// here; only the lane runner repeats those.
import { type Clock, Fault, type Ids, isFault, sleep } from "@parley/protocol";
import type { HealthBoard } from "./health.ts";

export interface Persistence {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly health: HealthBoard;
  /** Ends all waiting. */
  readonly signal: AbortSignal;
}

const firstWaitMs = 1_000;
const longestWaitMs = 60_000;
/**
 * Wait between attempts with a refused token. It seldom works again, but an outage can refuse it too (I10),
 * and this is slow enough to be no loop.
 */
export const refusedAgainMs = 10 * 60_000;

/**
 * Exponential and capped, half of it jitter, so that many accounts that lose one network do not come back
 * together. `failures` counts from 1.
 */
export function backoffMs(failures: number, ids: Ids): number {
  const capMs = Math.min(firstWaitMs * 2 ** Math.min(failures - 1, 16), longestWaitMs);
  return capMs / 2 + (ids.chance() * capMs) / 2;
}

/** Milliseconds to wait after this failure; the platform's own figure goes first. */
export function waitAfterMs(error: unknown, failures: number, ids: Ids): number {
  return isFault(error, "rate_limited") && error.retryAfterMs !== undefined
    ? error.retryAfterMs
    : backoffMs(failures, ids);
}

/**
 * Calls until it succeeds. Null when the signal ended it. While the platform denies the account its health is
 * `down`, and it is asked every ten minutes. Only for calls that may be repeated freely.
 */
export async function untilDone<T>(
  call: () => Promise<T>,
  { clock, ids, health, signal }: Persistence,
): Promise<T | null> {
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (signal.aborted) return null;
      const isDenied = error.code === "denied";
      health.set(isDenied ? "down" : "degraded", error.message);
      await sleep(clock, isDenied ? refusedAgainMs : waitAfterMs(error, failures, ids), signal);
    }
  }
  return null;
}
