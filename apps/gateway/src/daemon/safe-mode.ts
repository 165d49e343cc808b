// Enters safe mode after three starts in a row, within five minutes, that died before they did any work.
// Channels stay closed, so that the cause of the crashes cannot come in and an operator can look. A start
// that received a message, ended a turn or ended well breaks the row, because a daemon that is killed while
// working must resume its work. Waiting turns go on, because strikes bury a poison message. Safe mode ends by
// itself (I10).
import type { Clock } from "@parley/protocol";
import type { Boot } from "@parley/store";
import type { UpdateRecord } from "@parley/update";

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

/**
 * The boots that the version in force answers for. Those since an update began that went back, or goes back
 * now, were the other version's: the one that people have again is not held for them.
 */
export function ownBoots(
  boots: readonly Boot[],
  update: Pick<UpdateRecord, "state" | "begunAtMs" | "endedAtMs"> | null,
): readonly Boot[] {
  if (update === null || (update.state !== "going-back" && update.state !== "went-back")) return boots;
  const { begunAtMs, endedAtMs } = update;
  const isTrial = ({ startedAtMs }: Boot): boolean =>
    startedAtMs >= begunAtMs && startedAtMs <= (endedAtMs ?? Infinity);
  return boots.filter((boot, at) => at === 0 || !isTrial(boot));
}

/** Why channels are held; null when they are not. The record of the last update is read only when need be. */
export async function crashLoop(boots: readonly Boot[], home: string, nowMs: number): Promise<string | null> {
  if (crashLoopReason(boots, nowMs) === null) return null;
  const { readRecord } = await import("@parley/update");
  return crashLoopReason(ownBoots(boots, readRecord(home)), nowMs);
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
