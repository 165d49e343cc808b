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
 * Calls until it succeeds. Null when the signal ended it, or when the platform denies the account for good
 * (health is then `down`). Only for calls that may be repeated freely.
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
      if (error.code === "denied") {
        health.set("down", error.message);
        return null;
      }
      health.set("degraded", error.message);
      await sleep(clock, waitAfterMs(error, failures, ids), signal);
    }
  }
  return null;
}
