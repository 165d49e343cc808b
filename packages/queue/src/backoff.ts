// Computes waits between attempts: exponential, capped, and with jitter, so that many waiters do not come
// back together.

export interface Backoff {
  readonly firstMs: number;
  readonly mostMs: number;
  /** Share of the delay that is random: 0.2 gives 80-100 % of it. */
  readonly jitter: number;
}

/** `attempt` counts from 1; `chance` is a number in [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, chance: number): number {
  // 2^30 already passes every cap; the bound keeps the power finite.
  const fullMs = Math.min(backoff.mostMs, backoff.firstMs * 2 ** Math.min(Math.max(attempt, 1) - 1, 30));
  return Math.round(fullMs * (1 - backoff.jitter * chance));
}
