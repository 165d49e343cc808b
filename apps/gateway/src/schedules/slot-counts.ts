// Counts what became of the slots that this process looked at, for metrics and `parley cron status`. A crash
// loses the counts; the history of each job keeps what happened.
import type { Due } from "@parley/schedules";

/** Why a slot that was due did not run beside the others. */
type SkipReason = "overlap" | "spend";

/** `window`: longer ago than the job catches up. `policy`: its misfire policy let it go. */
type MissReason = Due["missed"][number]["why"];

export interface SlotCounts {
  fired(lateMs: number): void;
  skipped(why: SkipReason): void;
  missed(why: MissReason, count: number): void;
  now(): SlotNumbers;
}

export interface SlotNumbers {
  readonly fired: number;
  readonly skipped: { readonly [why in SkipReason]: number };
  readonly missed: { readonly [why in MissReason]: number };
  /** How late the fired ones were, in all and at most. */
  readonly lateSeconds: number;
  readonly mostLateSeconds: number;
}

export function slotCounts(): SlotCounts {
  const skipped = { overlap: 0, spend: 0 };
  const missed = { window: 0, policy: 0 };
  let [fired, lateMs, mostLateMs] = [0, 0, 0];
  return {
    fired(late) {
      fired += 1;
      lateMs += late;
      mostLateMs = Math.max(mostLateMs, late);
    },
    skipped: (why) => void (skipped[why] += 1),
    missed: (why, count) => void (missed[why] += count),
    now: () => ({
      fired,
      skipped: { ...skipped },
      missed: { ...missed },
      lateSeconds: lateMs / 1_000,
      mostLateSeconds: mostLateMs / 1_000,
    }),
  };
}
