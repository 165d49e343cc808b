// Limits that both drivers keep, so that a store behaves the same on SQLite and on Redis (I9, I15).

/**
 * The parts of an album may postpone a lane by at most this much, counted from its first waiting row.
 * Milliseconds.
 */
export const longestDebounceMs = 5000;

/** Counting stops here, so that a flood cannot make counting quadratic. */
export const countedUpTo = 1000;

/**
 * Guards must outlive what a platform redelivers (24 h), and must not outlive its ids (Telegram draws them
 * anew after a week).
 */
export const keptAfterEndMs = 5 * 86_400_000;

/** Refused rows kept per account: enough to see who asks, few enough that a flood cannot fill the disk. */
export const refusedKept = 10_000;

/**
 * A lane without a lease for this long is deleted. The next lease's token comes from the clock, so tokens
 * still only grow.
 */
export const idleLaneMs = 7 * 86_400_000;

/** Events kept for replay, counted over all streams. */
export const eventsKept = 10_000;

/** Boots kept in the history: more than the crash-loop rule looks at. */
export const bootsKept = 50;

/** Most transcript entries shown per turn. */
export const mostEntriesShown = 1_000;
