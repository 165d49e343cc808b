// Enters safe mode after three starts in a row, within five minutes, that died before they did any work.
// Channels stay closed, so that the cause of the crashes cannot come in and an operator can look. A start
// that received a message, ended a turn or ended well breaks the row, because a daemon that is killed while
// working must resume its work. Waiting turns go on, because strikes bury a poison message. Safe mode ends by
// itself (I10).
import type { Clock } from "@parley/protocol";
import type { Boot } from "@parley/store";

const withinMs = 5 * 60_000;
const mostUnclean = 3;
const cleanAfterMs = 10 * 60_000;

/** `boots`: newest first, the current one at the head. Null when there is no crash loop. */
export function crashLoopReason(boots: readonly Boot[], nowMs: number): string | null {
  const before = boots.slice(1);
  const lastGood = before.findIndex((boot) => boot.stoppedAtMs !== null || boot.worked);
  const sinceThen = lastGood === -1 ? before : before.slice(0, lastGood);
  const unclean = sinceThen.filter((boot) => nowMs - boot.startedAtMs <= withinMs);
  if (unclean.length < mostUnclean) return null;
  return `${unclean.length} starts within five minutes died before they got anything done; channels are held. They resume after ten clean minutes, or by "parley resume"`;
}

export interface SafeMode {
  /** Ends safe mode now; false when it was not on. */
  resume(): Promise<boolean>;
  cancel(): void;
}

/** Runs `release` once: on request, or after ten minutes. */
export function safeMode(clock: Clock, release: () => Promise<void>): SafeMode {
  let over = false;
  const end = async (): Promise<boolean> => {
    if (over) return false;
    over = true;
    timer.cancel();
    await release();
    return true;
  };
  const timer = clock.after(cleanAfterMs, () => void end());
  return { resume: end, cancel: () => timer.cancel() };
}
