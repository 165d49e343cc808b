// Numbers that every driver keeps, so that a store behaves the same wherever it lies (I9, I15).

/** Parts of an album may postpone a lane by this much, counted from its first waiting row. */
export const longestDebounceMs = 5000;

/** The most that is ever counted, so that a flood cannot make counting quadratic. */
export const countedUpTo = 1000;

/** Guards must outlive what a platform redelivers (24 h) and may not outlive its ids (Telegram draws them anew after a week). */
export const keptAfterEndMs = 5 * 86_400_000;

/** Refused rows that stay per account: enough to see who knocks, little enough that a flood cannot fill the disk. */
export const refusedKept = 10_000;

/** A lane that was not leased for this long goes; the next lease's token is the clock's, so tokens still only grow. */
export const idleLaneMs = 7 * 86_400_000;

/** Events that stay for replay, counted over all streams. */
export const eventsKept = 10_000;

/** Boots that stay in the history: more than the crash-loop rule looks at. */
export const bootsKept = 50;

/** Entries of a turn that are shown. */
export const mostEntriesShown = 1_000;
