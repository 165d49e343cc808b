// Makes a job from what a person or a model wrote, and a new version of it from an edit. Everything that a
// run will need is settled here: places, session and zone become fixed values, and a mistake is refused with
// its path, the value and the fix, before anything is stored.
import { isFault, parseSessionKey } from "@parley/protocol";
import type { z } from "zod";
import { instantsOfSchedule, nextInstants } from "./instants.ts";
import { jobIdSchema, mostCatchUpMs, type Job, type JobOwner } from "./job.ts";
import {
  writtenEditSchema,
  writtenJobSchema,
  type writtenDeliverySchema,
  type writtenTargetSchema,
} from "./written-form.ts";
import { readSchedule, type Problem } from "./written-schedule.ts";

export interface JobContext {
  readonly nowMs: number;
  /** The zone of whoever writes, for schedules that name none. */
  readonly zone: string;
}

export interface NewJobContext extends JobContext {
  readonly id: string;
  readonly agent: string;
  readonly owner: JobOwner;
}

export type JobDecision =
  | { readonly ok: true; readonly job: Job }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const topOfHourStaggerMs = 300_000;
const turnSeconds = 3_600;
const commandSeconds = 600;
/** More runs than anybody wants at once after a night off. */
const mostCaughtUp = 1_000;

/** `asked`: of the form of `writtenJobSchema`, or it is refused. */
export function newJob(asked: unknown, context: NewJobContext): JobDecision {
  const parsed = writtenJobSchema.safeParse(asked);
  if (!parsed.success) return { ok: false, problems: formProblems(parsed.error, asked) };
  const written = parsed.data;
  const { name, payload, enabled = true } = written;
  const { id, agent, owner, nowMs } = context;
  const scheduled = readSchedule(written.schedule, context);
  if (!scheduled.ok) return { ok: false, problems: [scheduled.problem] };
  const schedule = scheduled.value;
  const isOnce = schedule.kind === "at";
  const target = targetOf(written.target ?? { kind: isEvent(payload) ? "main" : "isolated" }, owner);
  const to = owner.conversation;
  const announces = !isProblem(target) && target.kind !== "session" && to !== null;
  const delivery = deliveryOf(written.delivery ?? { kind: announces ? "announce" : "none" }, owner);
  const problems = [target, delivery].filter(isProblem);
  if (isProblem(target) || isProblem(delivery)) return { ok: false, problems };
  return checked(
    {
      v: 1,
      id: jobIdSchema.parse(id),
      name,
      agent,
      owner,
      schedule,
      staggerMs: written.staggerMs ?? usualStagger(schedule),
      payload,
      target,
      wake: written.wake ?? "now",
      delivery,
      misfire: written.misfire ?? "latest",
      overlap: written.overlap ?? "skip",
      catchUpMs: written.catchUpMs ?? mostCatchUpMs,
      maxRuns: isOnce ? 1 : (written.maxRuns ?? null),
      deleteAfterRun: written.deleteAfterRun ?? isOnce,
      enabled,
      timeoutSeconds: written.timeoutSeconds ?? (payload.kind === "command" ? commandSeconds : turnSeconds),
      mostTokensPerDay: written.mostTokensPerDay ?? null,
      version: 1,
      createdAtMs: nowMs,
      editedAtMs: nowMs,
      effectiveFromMs: nowMs,
      state: {
        decidedMs: nowMs,
        nextMs: enabled ? instantsOfSchedule(schedule).next(nowMs) : null,
        runs: 0,
        missed: 0,
        last: null,
        consecutiveErrors: 0,
        backoffMs: 0,
        alertedAtMs: null,
        paused: null,
      },
    },
    nowMs,
  );
}

/** The next version. Another schedule, or being enabled again, begins from now: nothing is caught up. */
export function editedJob(job: Job, asked: unknown, context: JobContext): JobDecision {
  const parsed = writtenEditSchema.safeParse(asked);
  if (!parsed.success) return { ok: false, problems: formProblems(parsed.error, asked) };
  const { schedule: written, target: toTarget, delivery: toDelivery, ...plain } = parsed.data;
  const { nowMs } = context;
  const scheduled = written === undefined ? null : readSchedule(written, context);
  if (scheduled?.ok === false) return { ok: false, problems: [scheduled.problem] };
  const schedule = scheduled?.value ?? job.schedule;
  const target = toTarget === undefined ? job.target : targetOf(toTarget, job.owner);
  const delivery = toDelivery === undefined ? job.delivery : deliveryOf(toDelivery, job.owner);
  const problems = [target, delivery].filter(isProblem);
  if (isProblem(target) || isProblem(delivery)) return { ok: false, problems };
  const enabled = plain.enabled ?? job.enabled;
  const isNew = scheduled !== null;
  const isResumed = plain.enabled === true && (!job.enabled || job.state.paused !== null);
  const isOnce = schedule.kind === "at";
  const wasOnce = job.schedule.kind === "at";
  const next: Job = {
    ...job,
    ...plain,
    schedule,
    target,
    delivery,
    enabled,
    // A rule of the old kind does not outlive it.
    maxRuns: isOnce ? 1 : (plain.maxRuns ?? (wasOnce || plain.maxRuns === null ? null : job.maxRuns)),
    deleteAfterRun: plain.deleteAfterRun ?? (isOnce === wasOnce ? job.deleteAfterRun : isOnce),
    staggerMs: plain.staggerMs ?? (isNew ? usualStagger(schedule) : job.staggerMs),
    version: job.version + 1,
    editedAtMs: nowMs,
  };
  return checked(isNew || isResumed ? begun(next, nowMs, isNew) : next, nowMs);
}

/** The schedule holds from now on, and errors of before do not count. */
function begun(job: Job, nowMs: number, isNew: boolean): Job {
  const nextMs = job.enabled ? instantsOfSchedule(job.schedule).next(nowMs) : null;
  const fresh = { consecutiveErrors: 0, backoffMs: 0, alertedAtMs: null, paused: null };
  const runs = isNew ? 0 : job.state.runs;
  return {
    ...job,
    effectiveFromMs: nowMs,
    state: { ...job.state, ...fresh, decidedMs: nowMs, nextMs, runs },
  };
}

function formProblems({ issues }: z.ZodError, asked: unknown): readonly Problem[] {
  const valueAt = (path: readonly PropertyKey[]): unknown =>
    path.reduce<unknown>(
      (value, key) => (value as { [name: PropertyKey]: unknown } | undefined)?.[key],
      asked,
    );
  return issues.map((issue) => ({
    path: issue.path.map(String).join("."),
    value: valueAt(issue.path),
    why:
      valueAt(issue.path) === undefined
        ? "is missing"
        : issue.code === "invalid_value"
          ? "is not known here"
          : `is not accepted: ${issue.message}`,
    fix:
      issue.code === "invalid_value"
        ? `take one of ${issue.values.map(String).join(", ")}`
        : "write it in the form that a job has",
  }));
}

/** Rules over several fields. */
function checked(job: Job, nowMs: number): JobDecision {
  const { schedule, target, payload, maxRuns, catchUpMs, misfire, staggerMs } = job;
  const problems: Problem[] = [];
  if (target.kind === "main" && payload.kind !== "systemEvent")
    problems.push({
      path: "target.kind",
      value: target.kind,
      why: `takes a systemEvent only, not a payload of kind ${payload.kind}`,
      fix: 'use the payload { kind: "systemEvent", text }, or the target isolated',
    });
  if (target.kind === "isolated" && payload.kind === "systemEvent")
    problems.push({
      path: "target.kind",
      value: target.kind,
      why: "has no session that an event could be told to",
      fix: 'use the payload { kind: "agentTurn", message }, or the target main',
    });
  if (schedule.kind === "watch" && misfire !== "latest")
    problems.push({
      path: "misfire",
      value: misfire,
      why: "has no meaning for a watch: what changed while nothing ran fires once",
      fix: "leave it out",
    });
  if (schedule.kind === "watch" && staggerMs !== 0)
    problems.push({
      path: "staggerMs",
      value: staggerMs,
      why: "has no meaning for a watch",
      fix: "leave it out; debounce says how long the files must be quiet",
    });
  if (job.enabled && schedule.kind === "at" && schedule.atMs <= nowMs && job.effectiveFromMs === nowMs)
    problems.push({
      path: "schedule.at",
      value: new Date(schedule.atMs).toISOString(),
      why: "is past",
      fix: "give the job a new instant together with enabled: true",
    });
  if (job.deleteAfterRun && maxRuns === null)
    problems.push({
      path: "deleteAfterRun",
      value: true,
      why: "has no effect on a job that never ends",
      fix: "set maxRuns, or leave deleteAfterRun out",
    });
  const tooMany = job.misfire === "all" ? nextInstants(schedule, nowMs, mostCaughtUp + 1) : [];
  const last = tooMany[mostCaughtUp];
  if (last !== undefined && last - nowMs <= catchUpMs)
    problems.push({
      path: "misfire",
      value: "all",
      why: `could fire more than ${mostCaughtUp} times at once after ${catchUpMs} ms`,
      fix: `set catchUpMs below ${last - nowMs}, or misfire to latest`,
    });
  return problems.length === 0 ? { ok: true, job } : { ok: false, problems };
}

function targetOf(
  written: z.infer<typeof writtenTargetSchema>,
  { session }: JobOwner,
): Job["target"] | Problem {
  if (written.kind === "main" || written.kind === "isolated") return { kind: written.kind };
  if (written.kind === "current")
    return session === null
      ? {
          path: "target.kind",
          value: "current",
          why: "means the session in which the job is made, and there is none here",
          fix: "name one: { kind: session, session }",
        }
      : { kind: "current", session };
  try {
    parseSessionKey(written.session);
    return { kind: "session", session: written.session };
  } catch (error) {
    if (!isFault(error, "invalid")) throw error;
    const fix = "take a key that the list of sessions shows";
    return { path: "target.session", value: written.session, why: error.message, fix };
  }
}

function deliveryOf(
  written: z.infer<typeof writtenDeliverySchema>,
  { conversation }: JobOwner,
): Job["delivery"] | Problem {
  if (written.kind === "none") return { kind: "none" };
  const { bestEffort = false } = written;
  if (written.kind === "webhook") return { kind: "webhook", url: written.url, bestEffort };
  const to = written.to ?? conversation;
  return to === null
    ? {
        path: "delivery.to",
        value: null,
        why: "is missing: the job is not made in a conversation",
        fix: "name the conversation that hears of it, or use the delivery none",
      }
    : { kind: "announce", to, bestEffort };
}

/** Jobs of every hour would all begin at once; an hour that somebody names is meant so. */
function usualStagger(schedule: Job["schedule"]): number {
  if (schedule.kind !== "cron") return 0;
  const fields = schedule.expression.split(/\s+/);
  if (schedule.expression.toLowerCase() === "@hourly") return topOfHourStaggerMs;
  const [second = "0", minute, hour = ""] = fields.length === 6 ? fields : ["0", ...fields];
  return second === "0" && minute === "0" && hour.includes("*") ? topOfHourStaggerMs : 0;
}

function isEvent(payload: Job["payload"]): boolean {
  return payload.kind === "systemEvent";
}

function isProblem(value: object): value is Problem {
  return "fix" in value;
}
