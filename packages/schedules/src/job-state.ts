// Carries a job's state over a look and over the end of a run: what was decided, how often it ran, and how
// errors hold it back, are told, and at last pause it. A clock or a crash changes nothing here, because
// each step is written with what it belongs to.
import { instantsOfSchedule } from "./instants.ts";
import { type Due, type Missed, missedBeside, type Slot, slotId } from "./due.ts";
import type { outcomes, Job } from "./job.ts";

export interface RunEnd {
  readonly slot: Pick<Slot, "id" | "instantMs">;
  readonly outcome: (typeof outcomes)[number];
  readonly reason: string | null;
  readonly endedAtMs: number;
}

export interface AfterRun {
  readonly job: Job;
  /** What the owner of the job is told. */
  readonly tell: "failing" | "recovered" | "paused" | null;
  /** The job has no run any more and wants to be removed. */
  readonly isOver: boolean;
  /** Instants before the run's that no look has written down as missed. */
  readonly missed: readonly Missed[];
}

/**
 * A quick run may end before the look that fired it has written what it decided. Then the end writes it, and
 * the look, which is refused, finds nothing to decide any more.
 */
function withDecided(
  job: Job,
  { id, instantMs }: RunEnd["slot"],
  outcome: RunEnd["outcome"],
): { readonly job: Job; readonly missed: readonly Missed[] } {
  const { state } = job;
  const ran = outcome === "ok" || outcome === "silent" || outcome === "failed";
  if (!ran || id !== slotId(job.id, instantMs) || instantMs <= state.decidedMs) return { job, missed: [] };
  const runs = state.runs + 1;
  const hasRunsLeft = job.maxRuns === null || runs < job.maxRuns;
  const nextMs = hasRunsLeft ? instantsOfSchedule(job.schedule).next(instantMs) : null;
  const missed = missedBeside(job, [instantMs]);
  const decided = { decidedMs: instantMs, nextMs, runs, missed: state.missed + sum(missed) };
  return { job: { ...job, state: { ...state, ...decided } }, missed };
}

function sum(missed: readonly Missed[]): number {
  return missed.reduce((all, { count }) => all + count, 0);
}

const backoffsMs = [30_000, 60_000, 300_000, 900_000, 3_600_000];
const alertAfter = 2;
const alertAgainMs = 3_600_000;
const pauseAfter = 10;
const mostReasonChars = 1_000;

/** `accepted`: how many of the slots the store did not know yet. */
export function afterLook(job: Job, due: Due, accepted: number): Job {
  const { state } = job;
  const missed = state.missed + sum(due.missed);
  const { decidedMs, nextMs } = due;
  const seen = due.seen === undefined ? {} : { seen: due.seen };
  return { ...job, state: { ...state, ...seen, decidedMs, nextMs, missed, runs: state.runs + accepted } };
}

/** A job whose pause ends by itself begins from now, with one instant that it has left. */
export function resumedJob(job: Job, nowMs: number): Job {
  const { next } = instantsOfSchedule(job.schedule);
  const fromMs = job.schedule.kind === "at" ? job.state.decidedMs : nowMs;
  const state = { ...job.state, decidedMs: fromMs, nextMs: job.enabled ? next(fromMs) : null, paused: null };
  return { ...job, effectiveFromMs: job.schedule.kind === "at" ? job.effectiveFromMs : nowMs, state };
}

/** A run that was skipped, missed or replaced is neither an error nor the end of errors. */
export function afterRun(given: Job, { slot, outcome, reason, endedAtMs }: RunEnd): AfterRun {
  const { job, missed } = withDecided(given, slot, outcome);
  const { state } = job;
  const told = reason === null ? null : reason.slice(0, mostReasonChars);
  const last = { slot: slot.id, instantMs: slot.instantMs, endedAtMs, outcome, reason: told };
  const isOver =
    job.deleteAfterRun &&
    (outcome === "ok" || outcome === "silent") &&
    ((job.maxRuns !== null && state.runs >= job.maxRuns) ||
      (job.schedule.kind !== "watch" && instantsOfSchedule(job.schedule).next(state.decidedMs) === null));
  if (outcome === "ok" || outcome === "silent") {
    const fresh = { consecutiveErrors: 0, backoffMs: 0, alertedAtMs: null };
    const tell = state.alertedAtMs === null ? null : "recovered";
    return { job: { ...job, state: { ...state, ...fresh, last } }, tell, isOver, missed };
  }
  if (outcome !== "failed")
    return { job: { ...job, state: { ...state, last } }, tell: null, isOver: false, missed };
  const consecutiveErrors = state.consecutiveErrors + 1;
  const backoffMs = backoffsMs[Math.min(consecutiveErrors, backoffsMs.length) - 1] ?? 0;
  const failing = { ...state, last, consecutiveErrors, backoffMs };
  if (consecutiveErrors >= pauseAfter) {
    const paused = { reason: `it failed ${consecutiveErrors} times in a row`, atMs: endedAtMs };
    const stopped = { ...failing, nextMs: null, alertedAtMs: endedAtMs, paused };
    return { job: { ...job, state: stopped }, tell: "paused", isOver: false, missed };
  }
  const alerted = state.alertedAtMs;
  const isTold = consecutiveErrors >= alertAfter && (alerted === null || endedAtMs - alerted >= alertAgainMs);
  const alertedAtMs = isTold ? endedAtMs : alerted;
  return {
    job: { ...job, state: { ...failing, alertedAtMs } },
    tell: isTold ? "failing" : null,
    isOver: false,
    missed,
  };
}
