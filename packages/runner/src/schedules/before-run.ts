// Decides whether a run whose row was taken up still begins: not when its job was edited, removed, switched
// off or paused since. A run that has begun goes on, and one that somebody asked for needs only its job.
import { mayRun } from "@parley/schedules";
import type { Turn } from "@parley/store";
import type { Services } from "../turn-scope.ts";
import { isManual } from "./manual-run.ts";
import { slotOf } from "./slot-row.ts";

/** Why the turn is over before it begins; null for every other turn. */
export async function overBefore(
  { schedules }: Pick<Services, "schedules">,
  { rows, log }: Turn,
): Promise<string | null> {
  const [row] = rows;
  const slot = row === undefined ? null : slotOf(row);
  if (slot === null || log.length > 0 || rows.length > 1) return null;
  const job = (await schedules.jobs.get(slot.job))?.job ?? null;
  if (job !== null && isManual(slot.id)) return null;
  // One lane runs one after the other, and what overlaps was decided when the slot was due.
  const ruling = mayRun(job, { version: slot.run.version }, { running: 0, waiting: 0 });
  return ruling.run === "never" ? ruling.reason : null;
}
