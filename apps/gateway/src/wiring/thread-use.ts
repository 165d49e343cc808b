// Measures how much of a core this process used lately, for whatever makes way for people: nearly all of its
// work is done by one thread.
import type { Clock } from "@parley/protocol";

/** Shorter spans would take one long turn for a busy thread. */
const spanMs = 250;

/** Returns the share of a core, from 0 to 1, over the last whole span. */
export function threadUse(clock: Pick<Clock, "mono">): () => number {
  let from = process.cpuUsage();
  let fromMono = clock.mono();
  let share = 0;
  return () => {
    const passedMs = clock.mono() - fromMono;
    if (passedMs < spanMs) return share;
    const { user, system } = process.cpuUsage(from);
    share = Math.min(1, (user + system) / 1_000 / passedMs);
    from = process.cpuUsage();
    fromMono = clock.mono();
    return share;
  };
}
