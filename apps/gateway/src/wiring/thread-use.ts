// Measures how busy the process's thread is, for whatever makes way for people. Time in which the machine
// gave the thread no core counts as busy, too: people wait then as well.

/** Shorter spans would take one long turn for a busy thread. */
const spanMs = 250;

/** Returns the share of its time for which the event loop had work, from 0 to 1, over the last whole span. */
export function threadUse(): () => number {
  let from = performance.eventLoopUtilization();
  let share = 0;
  return () => {
    const since = performance.eventLoopUtilization(from);
    if (since.active + since.idle < spanMs) return share;
    share = since.utilization;
    from = performance.eventLoopUtilization();
    return share;
  };
}
