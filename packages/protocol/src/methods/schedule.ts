// The control plane's methods for schedules: jobs and their history, what a schedule means, and waking a
// session. Whoever calls them is the operator.
import { z } from "zod";

const jobId = z.string().min(1).max(120);
/** As people write a job; what is wrong with it is told with its path and the fix. */
const written = z.record(z.string(), z.unknown());

const instant = z.object({
  atMs: z.number(),
  iso: z.string(),
  /** In the schedule's own zone. */
  local: z.string(),
});

const job = z.object({
  id: z.string(),
  name: z.string(),
  agent: z.string(),
  enabled: z.boolean(),
  /** Why Parley itself holds it back; null: it does not. */
  paused: z.string().nullable(),
  /** For example "every weekday at 09:00 Europe/Berlin". */
  words: z.string(),
  schedule: z.record(z.string(), z.unknown()),
  payload: z.record(z.string(), z.unknown()),
  target: z.record(z.string(), z.unknown()),
  /** The session in which its runs work. */
  session: z.string(),
  delivery: z.record(z.string(), z.unknown()),
  wake: z.enum(["now", "next-heartbeat"]),
  misfire: z.enum(["latest", "all", "none"]),
  overlap: z.enum(["skip", "queue", "replace"]),
  staggerMs: z.number(),
  catchUpMs: z.number(),
  maxRuns: z.number().nullable(),
  deleteAfterRun: z.boolean(),
  timeoutSeconds: z.number(),
  mostTokensPerDay: z.number().nullable(),
  version: z.number(),
  createdAtMs: z.number(),
  editedAtMs: z.number(),
  /** Who made it: `operator`, or a person and how. */
  owner: z.object({
    kind: z.enum(["turn", "command", "operator"]),
    sender: z.string().nullable(),
    isOwner: z.boolean(),
    session: z.string().nullable(),
  }),
  /** When it fires next, with its stagger; null: never, as it is now. */
  nextAtMs: z.number().nullable(),
  nextAt: z.string().nullable(),
  runs: z.number(),
  missed: z.number(),
  consecutiveErrors: z.number(),
  last: z
    .object({
      slot: z.string(),
      instantMs: z.number(),
      endedAtMs: z.number(),
      outcome: z.string(),
      reason: z.string().nullable(),
    })
    .nullable(),
});

const oneJob = z.object({ job });

export const scheduleMethods = {
  /** In the order in which they come. */
  "cron.list": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: z.object({ agent: z.string().min(1).max(64).optional() }),
    result: z.object({ jobs: z.array(job) }),
  },
  /** By id or name. */
  "cron.get": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: z.object({ id: jobId }),
    result: oneJob,
  },
  "cron.add": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({ job: written, idempotencyKey: z.string().min(1).max(200).optional() }),
    result: oneJob,
  },
  /** `version`: the one that was seen; of two who edit at once, one is told. */
  "cron.update": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({ id: jobId, patch: written, version: z.number().int().optional() }),
    result: oneJob,
  },
  "cron.remove": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({ id: jobId }),
    result: z.object({ id: z.string(), name: z.string() }),
  },
  /** Runs it now, beside its schedule. */
  "cron.run": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({ id: jobId, idempotencyKey: z.string().min(1).max(200).optional() }),
    result: z.object({ id: z.string(), run: z.string() }),
  },
  /** Newest first. */
  "cron.runs": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: z.object({ id: jobId, limit: z.number().int().min(1).max(1000).optional() }),
    result: z.object({
      id: z.string(),
      now: z.array(
        z.object({
          slot: z.string(),
          instantMs: z.number(),
          state: z.enum(["waiting", "running"]),
          turn: z.string().nullable(),
          session: z.string(),
        }),
      ),
      runs: z.array(
        z.object({
          slot: z.string(),
          instantMs: z.number(),
          turn: z.string().nullable(),
          session: z.string().nullable(),
          outcome: z.enum(["ok", "silent", "failed", "skipped", "missed", "superseded"]),
          reason: z.string().nullable(),
          count: z.number(),
          startedAtMs: z.number().nullable(),
          endedAtMs: z.number(),
          tokens: z.number(),
          said: z.string(),
        }),
      ),
    }),
  },
  "cron.status": {
    scope: "read",
    sessions: "none",
    needs: "config and store",
    params: z.object({}),
    result: z.object({
      enabled: z.boolean(),
      zone: z.string(),
      jobs: z.number(),
      switchedOff: z.number(),
      paused: z.number(),
      failing: z.number(),
      /** Runs at work now, in all processes, counted up to 1000. */
      running: z.number(),
      /** What this process decided since it started. */
      slots: z.object({
        fired: z.number(),
        skipped: z.record(z.string(), z.number()),
        missed: z.record(z.string(), z.number()),
        lateSeconds: z.number(),
        mostLateSeconds: z.number(),
      }),
      nextAtMs: z.number().nullable(),
      nextAt: z.string().nullable(),
      nextJob: z.string().nullable(),
      /** Ids of cells that another version of Parley wrote. */
      unreadable: z.array(z.string()),
    }),
  },
  /** What a schedule means, of a job or as written: words and its next instants. A job needs the store. */
  "cron.explain": {
    scope: "read",
    sessions: "none",
    needs: "config",
    params: z.object({
      id: jobId.optional(),
      schedule: written.optional(),
      count: z.number().int().min(1).max(100).optional(),
      /** ISO text; default: now. */
      from: z.string().max(64).optional(),
    }),
    result: z.object({
      words: z.string(),
      zone: z.string(),
      staggerMs: z.number(),
      next: z.array(instant),
      /** Of a watch: how many files it means now. */
      files: z.number().optional(),
    }),
  },
  /** Tells a session something, now or with its next heartbeat. */
  wake: {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({
      text: z.string().min(1).max(16_000),
      mode: z.enum(["now", "next-heartbeat"]).optional(),
      agent: z.string().min(1).max(64).optional(),
      session: z.string().min(1).max(512).optional(),
      idempotencyKey: z.string().min(1).max(200).optional(),
    }),
    result: z.object({ id: z.string(), session: z.string(), mode: z.enum(["now", "next-heartbeat"]) }),
  },
} as const;
