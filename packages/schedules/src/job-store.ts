// Keeps each job in a cell, `job:<id>`. An edit names the version that it was made from, so that of two
// people who edit at once one is told; the state is written against the cell's own version, so that a look
// and an edit never undo each other. The number of jobs is bounded (I9).
import type { Cell, Cells, CellWrite } from "@parley/store";
import type { Address } from "@parley/protocol";
import { staggerOf } from "./instants.ts";
import { formatJob, parseJob, type Job } from "./job.ts";
import { resumedJob } from "./job-state.ts";

export interface KeptJob {
  readonly job: Job;
  /** Version of the cell, which grows with the state too. */
  readonly cell: number;
}

type Refusal = "known" | "full" | "missing" | "changed";

type JobWrite =
  | { readonly ok: true; readonly kept: KeptJob }
  | { readonly ok: false; readonly refusal: Refusal; readonly reason: string };

export interface JobStore {
  add(job: Job): Promise<JobWrite>;
  get(id: string): Promise<KeptJob | null>;
  /** In the order of ids; `unreadable`: cells of another version of Parley, which are left alone. */
  list(): Promise<{ readonly jobs: readonly KeptJob[]; readonly unreadable: readonly string[] }>;
  /** `next`: the job's next version, made from version `from`. A look in between keeps what it decided. */
  update(from: number, next: Job): Promise<JobWrite>;
  /** Stops a job from outside, as a blocked chat does; editing `enabled` to true resumes it. */
  pause(id: string, reason: string, nowMs: number, until?: Address): Promise<JobWrite>;
  /**
   * Ends such a pause. What was due meanwhile does not come any more, but for a job of one instant: that one
   * comes late, if the job still catches up with it.
   */
  resume(id: string, nowMs: number): Promise<JobWrite>;
  /** The new state alone. False when the job changed meanwhile. */
  write(kept: KeptJob, next: Job): Promise<boolean>;
  /** The new state, as part of another write, which the store refuses when the job changed meanwhile. */
  writing(kept: KeptJob, next: Job): CellWrite;
  /** `version`: the job's, as it was seen. False when there is no such job. */
  remove(id: string, version?: number): Promise<boolean>;
}

/** Of the cells that hold jobs. */
export const jobPrefix = "job:";
const prefix = jobPrefix;
const mostJobs = 10_000;
/** Looks that come in between an edit's reading and writing. */
const mostTries = 10;

export function jobStore(cells: Pick<Cells, "get" | "put" | "list" | "remove">): JobStore {
  async function get(id: string): Promise<KeptJob | null> {
    const cell = await cells.get(`${prefix}${id}`);
    return cell === null ? null : keptIn(cell);
  }

  /** Writes what `change` makes of the present job, again when its state was written meanwhile. */
  async function rewrite(id: string, change: (job: Job) => Job | null): Promise<JobWrite> {
    for (let tried = 0; tried < mostTries; tried += 1) {
      const kept = await get(id);
      if (kept === null) return refused("missing", `there is no job ${id}`);
      const next = change(kept.job);
      if (next === null)
        return refused(
          "changed",
          `the job ${id} is at version ${kept.job.version} by now; look at it and edit that one`,
        );
      const cell = await cells.put(`${prefix}${id}`, formatJob(next), { expect: kept.cell });
      if (cell !== null) return { ok: true, kept: { job: next, cell: cell.version } };
    }
    return refused("changed", `the job ${id} changes all the time; try again`);
  }

  return {
    get,
    async add(job) {
      const known = await cells.list(prefix, mostJobs);
      if (known.length >= mostJobs)
        return refused("full", `there are ${mostJobs} jobs already; remove some that are not needed`);
      const cell = await cells.put(`${prefix}${job.id}`, formatJob(job), { expect: 0 });
      return cell === null
        ? refused("known", `there is a job ${job.id} already`)
        : { ok: true, kept: { job, cell: cell.version } };
    },
    async list() {
      const found = await cells.list(prefix, mostJobs);
      const read = found.map((cell) => ({ key: cell.key, kept: keptIn(cell) }));
      return {
        jobs: read.flatMap(({ kept }) => kept ?? []),
        unreadable: read.flatMap(({ key, kept }) => (kept === null ? [key.slice(prefix.length)] : [])),
      };
    },
    update: (from, next) =>
      rewrite(next.id, (job) => {
        if (job.version !== from) return null;
        const isBegun =
          next.effectiveFromMs !== job.effectiveFromMs ||
          JSON.stringify(next.schedule) !== JSON.stringify(job.schedule);
        return isBegun ? next : { ...next, state: job.state };
      }),
    pause: (id, reason, nowMs, until) =>
      rewrite(id, (job) => {
        const paused = {
          reason: reason.slice(0, 1_000),
          atMs: nowMs,
          ...(until === undefined ? {} : { until }),
        };
        return { ...job, state: { ...job.state, nextMs: null, paused } };
      }),
    resume: (id, nowMs) => rewrite(id, (job) => (job.state.paused === null ? job : resumedJob(job, nowMs))),
    write: async ({ cell }, next) =>
      (await cells.put(`${prefix}${next.id}`, formatJob(next), { expect: cell })) !== null,
    writing: ({ cell }, next) => ({ key: `${prefix}${next.id}`, value: formatJob(next), expect: cell }),
    async remove(id, version) {
      for (let tried = 0; tried < mostTries; tried += 1) {
        const kept = await get(id);
        if (kept === null || (version !== undefined && kept.job.version !== version)) return false;
        if (await cells.remove(`${prefix}${id}`, kept.cell)) return true;
      }
      return false;
    },
  };
}

/**
 * When a job is to be looked at, read from its cell without checking the rest of it: a process that starts
 * reads all of them. Null: it waits for nothing.
 */
export function wakeOf({ value }: Pick<Cell, "value">): {
  readonly id: string;
  readonly atMs: number | null;
} {
  const { id, staggerMs, enabled, state, schedule } = JSON.parse(value) as Job;
  const { nextMs, paused } = state;
  if (schedule.kind === "watch") return { id, atMs: enabled && paused === null ? 0 : null };
  const waits = enabled && paused === null && nextMs !== null;
  return { id, atMs: waits ? nextMs + staggerOf({ id, staggerMs }) : null };
}

function keptIn({ value, version }: Cell): KeptJob | null {
  const job = parseJob(value);
  return job === null ? null : { job, cell: version };
}

function refused(refusal: Refusal, reason: string): JobWrite {
  return { ok: false, refusal, reason };
}
