// Says in one line what a job is and when it comes, for people and models.
import { dueSlots, previewOf, type Job } from "@parley/schedules";

/** When a job fires next, with its stagger; null: never, or not as long as it is paused. */
export function nextOf(job: Job, nowMs: number): number | null {
  return dueSlots(job, job.state.decidedMs, nowMs).wakeAtMs;
}

/** One line for people and models. */
export function jobLine(job: Job, nowMs: number): string {
  const { id, name, schedule, enabled, state, payload } = job;
  const { words, next } = previewOf(schedule, nowMs, 1);
  const paused = state.paused === null ? null : `paused: ${state.paused.reason}`;
  const isOver = job.maxRuns !== null && state.runs >= job.maxRuns;
  const waits = schedule.kind === "watch" && !isOver ? "waits for a change" : null;
  const ends = nextOf(job, nowMs) === null ? (waits ?? "has no run any more") : null;
  const when = !enabled ? "switched off" : (paused ?? ends ?? `next ${next[0]?.local ?? "never"}`);
  const last =
    state.last === null
      ? ""
      : `, last ${state.last.outcome}${state.last.reason === null ? "" : ` (${state.last.reason})`}`;
  return `${id} ${JSON.stringify(name)}: ${words}, ${payload.kind}, ${when}${last}`;
}
