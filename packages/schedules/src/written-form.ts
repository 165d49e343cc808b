// The form in which people and models write a job and its edits: what is left out gets its default when the
// job is made. No field says who made it or with which rights, because those are not theirs to write.
import { z } from "zod";
import {
  deliverySchema,
  leastCatchUpMs,
  misfirePolicies,
  mostCatchUpMs,
  mostStaggerMs,
  overlapPolicies,
  payloadSchema,
  wakeModes,
} from "./job.ts";
import { writtenScheduleSchema } from "./written-schedule.ts";

export const writtenTargetSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("main") }),
  z.object({ kind: z.literal("isolated") }),
  z.object({ kind: z.literal("current") }),
  z.object({ kind: z.literal("session"), session: z.string() }),
]);

export const writtenDeliverySchema = z.discriminatedUnion("kind", [
  deliverySchema.options[0],
  deliverySchema.options[1].partial({ to: true, bestEffort: true }),
  deliverySchema.options[2].partial({ bestEffort: true }),
]);

export const writtenJobSchema = z.strictObject({
  name: z.string().trim().min(1).max(120),
  schedule: writtenScheduleSchema,
  payload: payloadSchema,
  target: writtenTargetSchema
    .exactOptional()
    .describe("Default: main for a systemEvent, else isolated. main takes a systemEvent only."),
  wake: z.enum(wakeModes).exactOptional(),
  delivery: writtenDeliverySchema
    .exactOptional()
    .describe("Default: announce in the present conversation where there is one, else none."),
  misfire: z.enum(misfirePolicies).exactOptional().describe("Missed instants. Default: latest."),
  overlap: z.enum(overlapPolicies).exactOptional().describe("While a run goes on. Default: skip."),
  catchUpMs: z.int().min(leastCatchUpMs).max(mostCatchUpMs).exactOptional(),
  staggerMs: z
    .int()
    .min(0)
    .max(mostStaggerMs)
    .exactOptional()
    .describe("0: exact. Default: 5 minutes for jobs of every hour on the hour, else 0."),
  maxRuns: z.int().min(1).nullable().exactOptional(),
  deleteAfterRun: z.boolean().exactOptional().describe("Default: true for the kind at."),
  enabled: z.boolean().exactOptional(),
  timeoutSeconds: z.int().min(1).max(86_400).exactOptional(),
  mostTokensPerDay: z.int().min(1).nullable().exactOptional(),
});

export const writtenEditSchema = z.strictObject({
  ...writtenJobSchema.shape,
  name: writtenJobSchema.shape.name.exactOptional(),
  schedule: writtenScheduleSchema.exactOptional(),
  payload: payloadSchema.exactOptional(),
});
