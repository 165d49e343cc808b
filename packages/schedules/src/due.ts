// Decides which slots of a job fire now. A pure function of the job, the last decided instant and the clock,
// so that a restart, a second node or a clock that jumps only means another look. A slot's id is made from
// job and instant; that the store takes an id once is what keeps it from firing twice, and nothing here does.
import { instantsOfSchedule, staggerOf } from "./instants.ts";
import type { Job } from "./job.ts";
import type { Instants } from "./expression.ts";

/** One firing of a job at one of its instants. */
export interface Slot {
  /** Of its row: `cron:<job>:<instant as ISO text>`. */
  readonly id: string;
  readonly job: string;
  readonly version: number;
  /** As the schedule says it. */
  readonly instantMs: number;
  /** The instant with the job's stagger. */
  readonly atMs: number;
  /** Of a watch: what changed, in words. */
  readonly because?: string;
  /** Why it does not run, where that is known before. */
  readonly skip?: string;
}

/** Instants that do not fire: all between the first and the last that no slot has. */
export interface Missed {
  readonly firstMs: number;
  readonly lastMs: number;
  /** Counted up to 100. */
  readonly count: number;
  /** `window`: longer ago than the job catches up. `policy`: a later one stands for it, or none is wanted. */
  readonly why: "window" | "policy";
}

export interface Due {
  /** Oldest first. */
  readonly fire: readonly Slot[];
  readonly missed: readonly Missed[];
  /** Is handed in at the next look; to be stored in one transaction with the slots' rows. */
  readonly decidedMs: number;
  /** The instant that comes next, without stagger. */
  readonly nextMs: number | null;
  /** When to look again at the latest; null: nothing comes any more. */
  readonly wakeAtMs: number | null;
  /** Of a watch: what was seen, to be stored with the slots. */
  readonly seen?: Job["state"]["seen"];
  /** The clock was set back since the last look: what comes again now may be known to the store. */
  readonly isSetBack: boolean;
}

/** So late a slot still counts as on time: a restart, a busy process, a timer. */
const onTimeMs = 60_000;
/** Most slots of one look; the rest follows at the next one, at once. */
const slotsPerLook = 100;
const mostCounted = 100;

export function slotId(job: string, instantMs: number): string {
  return `cron:${job}:${new Date(instantMs).toISOString()}`;
}

/** `decidedMs`: of the last look, as the job's state keeps it. */
export function dueSlots(job: Job, decidedMs: number, nowMs: number): Due {
  const isSetBack = decidedMs > nowMs;
  // A clock that was ahead decided what has not come yet: that is decided again, when it comes.
  const from = Math.min(Math.max(decidedMs, job.effectiveFromMs), nowMs);
  const none: Due = { fire: [], missed: [], decidedMs: from, nextMs: null, wakeAtMs: null, isSetBack };
  const left = job.maxRuns === null ? Infinity : job.maxRuns - job.state.runs;
  if (!job.enabled || job.state.paused !== null || left <= 0) return none;

  const instants = instantsOfSchedule(job.schedule);
  const stagger = staggerOf(job);
  const heldUntilMs = heldUntil(job, nowMs);
  const waiting = (end: Due): Due => {
    const nextMs = end.fire.length >= left ? null : instants.next(end.decidedMs);
    const wakeAtMs = nextMs === null ? null : Math.max(nextMs + stagger, heldUntilMs, nowMs);
    return { ...end, nextMs, wakeAtMs };
  };
  const until = nowMs - stagger;
  if (until <= from || heldUntilMs > nowMs) return waiting(none);

  const reachMs = job.misfire === "none" ? onTimeMs : job.catchUpMs;
  /** Instants after this one may fire. */
  const after = Math.max(from, until - reachMs - 1);
  const due = job.misfire === "all" ? between(instants, after, until) : latest(instants, after, until);
  const fired = due.slice(0, Math.min(slotsPerLook, left));
  const isCut = fired.length < due.length;
  const decided = isCut ? (fired.at(-1) ?? until) : until;
  const why = job.misfire === "none" ? "policy" : "window";
  const [first] = fired;
  const missed = [
    ...missedIn(instants, from, after, why),
    ...(job.misfire === "all" ? [] : missedIn(instants, after, (first ?? until + 1) - 1, "policy")),
  ];
  const fire = fired.map((instantMs) => ({
    id: slotId(job.id, instantMs),
    job: job.id,
    version: job.version,
    instantMs,
    atMs: instantMs + stagger,
  }));
  return waiting({ ...none, fire, missed, decidedMs: decided });
}

/**
 * Of slots whose rows are written, though no look wrote that they are decided: the instants beside them, up
 * to the last one, which the misfire policy let go.
 */
export function missedBeside(job: Job, fired: readonly number[]): readonly Missed[] {
  const instants = instantsOfSchedule(job.schedule);
  const why = job.misfire === "all" ? "window" : "policy";
  let from = Math.max(job.state.decidedMs, job.effectiveFromMs);
  return fired
    .toSorted((a, b) => a - b)
    .flatMap((instantMs) => {
      const missed = missedIn(instants, from, instantMs - 1, why);
      from = instantMs;
      return missed;
    });
}

/** Errors hold a job back for a while after its last end; a clock set back before that end ends the wait. */
function heldUntil({ state }: Job, nowMs: number): number {
  const endedAtMs = state.last?.endedAtMs;
  return endedAtMs === undefined || nowMs < endedAtMs ? nowMs : endedAtMs + state.backoffMs;
}

/** One more than a look may fire, so that the caller sees whether there are more. */
function between({ next }: Instants, after: number, until: number): readonly number[] {
  const found: number[] = [];
  let at = next(after);
  while (at !== null && at <= until && found.length <= slotsPerLook) {
    found.push(at);
    at = next(at);
  }
  return found;
}

function latest({ previous }: Instants, after: number, until: number): readonly number[] {
  const at = previous(until + 1);
  return at !== null && at > after ? [at] : [];
}

function missedIn(
  { next, previous }: Instants,
  after: number,
  until: number,
  why: Missed["why"],
): readonly Missed[] {
  const firstMs = after < until ? next(after) : null;
  const lastMs = firstMs === null || firstMs > until ? null : previous(until + 1);
  if (firstMs === null || lastMs === null) return [];
  let count = 1;
  for (let at = next(firstMs); at !== null && at <= until && count < mostCounted; at = next(at)) count += 1;
  return [{ firstMs, lastMs, count, why }];
}
