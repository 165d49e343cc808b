// Keeps the history of each job's runs: one cell a run, which expires by itself. Keys count down, so that a
// list gives the newest first without reading the rest, and a run that is recorded again stays one.
import type { Cells, CellWrite } from "@parley/store";
import type { Job, Missed } from "@parley/schedules";
import { z } from "zod";

const runSchema = z.object({
  v: z.literal(1),
  job: z.string(),
  slot: z.string(),
  instantMs: z.number(),
  /** Null for what never ran. */
  turn: z.string().nullable(),
  session: z.string().nullable(),
  outcome: z.enum(["ok", "silent", "failed", "skipped", "missed", "superseded"]),
  reason: z.string().nullable(),
  /** Of missed instants, how many this stands for, counted up to 100. */
  count: z.number(),
  startedAtMs: z.number().nullable(),
  endedAtMs: z.number(),
  tokens: z.number(),
  /** The beginning of the answer. */
  said: z.string(),
});

export type JobRun = z.infer<typeof runSchema>;

/** How a run ended, and why. */
export type RunEnding = Pick<JobRun, "outcome" | "reason">;

export interface RunLog {
  /** As part of another write, or alone by `note`. */
  writing(run: JobRun): CellWrite;
  note(runs: readonly JobRun[]): Promise<void>;
  /** Newest first. */
  list(job: string, limit: number): Promise<readonly JobRun[]>;
  forget(job: string): Promise<void>;
  /** Takes away what is beyond the most lines of a history. */
  trim(job: string): Promise<void>;
}

const prefix = "cronrun:";
/** Of the same length for every instant until the year 2286. */
const latestMs = 9_999_999_999_999;
const saidChars = 500;
const reasonChars = 1_000;
const mostListed = 1_000;

export function runLog(
  cells: Pick<Cells, "put" | "list" | "remove">,
  limits: { readonly retentionMs: number; readonly keepLines: number },
): RunLog {
  const keyOf = ({ job, slot, instantMs }: JobRun): string =>
    `${prefix}${job}:${String(latestMs - instantMs).padStart(13, "0")}:${slot.length}${slot.slice(-40)}`;
  const write = (run: JobRun): CellWrite => ({
    key: keyOf(run),
    value: JSON.stringify({
      ...run,
      said: run.said.slice(0, saidChars).toWellFormed(),
      reason: run.reason?.slice(0, reasonChars).toWellFormed() ?? null,
    }),
    ttlMs: limits.retentionMs,
  });
  const all = (job: string, limit: number) => cells.list(`${prefix}${job}:`, limit);
  return {
    writing: write,
    async note(runs) {
      for (const { key, value, ttlMs } of runs.map(write))
        if (value !== null) await cells.put(key, value, ttlMs === undefined ? {} : { ttlMs });
    },
    list: async (job, limit) =>
      (await all(job, Math.min(limit, mostListed))).flatMap(({ value }) => readRun(value) ?? []),
    async forget(job) {
      for (;;) {
        const found = await all(job, mostListed);
        for (const { key } of found) await cells.remove(key);
        if (found.length < mostListed) return;
      }
    },
    async trim(job) {
      const found = await all(job, limits.keepLines + mostListed);
      for (const { key } of found.slice(limits.keepLines)) await cells.remove(key);
    },
  };
}

/** The line of instants that do not run. */
export function missedRun(
  { id, misfire }: Pick<Job, "id" | "misfire">,
  { lastMs, count, why }: Missed,
  nowMs: number,
): JobRun {
  return {
    ...emptyRun({ id }, nowMs),
    slot: `cron:${id}:missed:${new Date(lastMs).toISOString()}`,
    instantMs: lastMs,
    outcome: "missed",
    count,
    reason:
      why === "policy"
        ? `misfire ${misfire}: ${misfire === "none" ? "what is late does not run" : "a later one stands for it"}`
        : "longer ago than the job catches up (catchUpMs)",
  };
}

/** What never ran. */
export function emptyRun(
  { id }: Pick<Job, "id">,
  nowMs: number,
): Omit<JobRun, "slot" | "instantMs" | "outcome" | "reason"> {
  return {
    v: 1,
    job: id,
    turn: null,
    session: null,
    count: 1,
    startedAtMs: null,
    endedAtMs: nowMs,
    tokens: 0,
    said: "",
  };
}

function readRun(value: string): JobRun | null {
  const parsed = runSchema.safeParse(JSON.parse(value));
  return parsed.success ? parsed.data : null;
}
