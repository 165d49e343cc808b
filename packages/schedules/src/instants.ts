// Gives the instants of a job: when it is due next, when it was due last, always computed in the job's own
// zone, for what comes and for what is caught up with alike. An instant is nominal; the stagger comes on top
// and is the same for every instant of a job.
import { createHash } from "node:crypto";
import { expressionInstants, type Instants } from "./expression.ts";
import type { Job, Schedule } from "./job.ts";

export function instantsOfSchedule(schedule: Schedule): Instants {
  switch (schedule.kind) {
    case "at": {
      const { atMs } = schedule;
      return {
        next: (afterMs) => (atMs > afterMs ? atMs : null),
        previous: (beforeMs) => (atMs < beforeMs ? atMs : null),
      };
    }
    case "every": {
      const { everyMs, anchorMs } = schedule;
      return {
        next: (afterMs) => anchorMs + Math.max(0, Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs,
        previous: (beforeMs) =>
          beforeMs > anchorMs ? anchorMs + (Math.ceil((beforeMs - anchorMs) / everyMs) - 1) * everyMs : null,
      };
    }
    case "watch":
      return { next: () => null, previous: () => null };
    case "cron":
      return expressionInstants(schedule.expression, schedule.zone);
  }
}

/** The next instants after `afterMs`, at most `limit`. */
export function nextInstants(schedule: Schedule, afterMs: number, limit: number): readonly number[] {
  const { next } = instantsOfSchedule(schedule);
  const found: number[] = [];
  let at = next(afterMs);
  while (at !== null && found.length < limit) {
    found.push(at);
    at = found.length < limit ? next(at) : null;
  }
  return found;
}

/** How much later than each instant the job fires: below `staggerMs`, and the same on every node. */
export function staggerOf({ id, staggerMs }: Pick<Job, "id" | "staggerMs">): number {
  if (staggerMs === 0) return 0;
  return createHash("sha256").update(id).digest().readUInt32BE(0) % staggerMs;
}
