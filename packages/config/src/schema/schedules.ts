// cron.*: the jobs that schedules run, how many at once, and how long what they leave is kept.
import { z } from "zod";
import { timeZone } from "./fields.ts";

const span = z.string().regex(/^\d{1,5}(?:s|m|h|d)$/, { error: 'a time is written like "24h" or "7d"' });

export const cronSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe("Whether jobs run. Switched off, what is due meanwhile is missed by each job's own policy."),
    maxConcurrentRuns: z
      .number()
      .int()
      .min(1)
      .max(64)
      .default(4)
      .describe("Turns of jobs that run at the same time, in one process."),
    timezone: timeZone
      .exactOptional()
      .describe("Time zone of schedules that name none. Default: agents.defaults.userTimezone."),
    sessionRetention: span.default("24h").describe("How long the transcripts of isolated runs are kept."),
    runLog: z
      .strictObject({
        retention: span.default("7d").describe("How long the history of a job's runs is kept."),
        keepLines: z
          .number()
          .int()
          .min(10)
          .max(10_000)
          .default(2000)
          .describe("Most runs of one job that its history keeps."),
      })
      .prefault({})
      .describe("What `parley cron runs` shows."),
  })
  .prefault({})
  .describe("Schedules: reminders and jobs.");
