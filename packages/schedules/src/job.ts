// The form of a job as its cell keeps it: when it is due, what it does, in which session, who made it and
// with which rights, and how it fared. Places and rights are fixed when the job is made, so that a run never
// goes to whoever spoke last and never may do more than its maker could.
import { addressSchema, thinkingLevels } from "@parley/protocol";
import { z } from "zod";

/** The store knows a row's id for five days after the row's end, so no older slot may be caught up with. */
export const mostCatchUpMs = 4 * 86_400_000;
export const leastCatchUpMs = 60_000;
export const mostStaggerMs = 3_600_000;
const longestEveryMs = 366 * 86_400_000;
const mostTextChars = 16_000;

const words = z.string().min(1).max(mostTextChars);
const name = z.string().trim().min(1).max(120);
const count = z.int().min(0);
const instant = z.int();

/** A job whose id is part of row ids and session keys. */
export const jobIdSchema = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/);

export const scheduleSchema = z.discriminatedUnion("kind", [
  /** `zone` is the one that people read the instant in. */
  z.object({ kind: z.literal("at"), atMs: instant, zone: z.string() }),
  /** Elapsed time: no zone and no daylight saving. The first instant is the anchor. */
  z.object({ kind: z.literal("every"), everyMs: z.int().min(1_000).max(longestEveryMs), anchorMs: instant }),
  z.object({ kind: z.literal("cron"), expression: z.string().max(200), zone: z.string() }),
  /** When files change that the path or pattern names, from the agent's workspace on. It has no instants. */
  z.object({
    kind: z.literal("watch"),
    path: z.string().min(1).max(300),
    debounceMs: z.int().min(100).max(3_600_000),
  }),
]);

export const payloadSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("systemEvent"), text: words }),
  z.object({
    kind: z.literal("agentTurn"),
    message: words,
    model: z.string().min(1).max(200).exactOptional(),
    fallbacks: z.array(z.string().min(1).max(200)).max(10).exactOptional(),
    thinking: z.enum(thinkingLevels).exactOptional(),
    /** Narrows what the maker may use; never widens it. */
    tools: z.array(z.string().min(1).max(100)).max(200).exactOptional(),
    lightContext: z.boolean().exactOptional(),
  }),
  z.object({ kind: z.literal("command"), command: words, cwd: z.string().max(1_000).exactOptional() }),
]);

const targetSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("main") }),
  /** A session of its own for every run. */
  z.object({ kind: z.literal("isolated") }),
  /** The session in which the job was made. */
  z.object({ kind: z.literal("current"), session: z.string().min(1) }),
  z.object({ kind: z.literal("session"), session: z.string().min(1) }),
]);

export const deliverySchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("none") }),
  /** With `bestEffort` the job runs on while nothing may be sent there. */
  z.object({ kind: z.literal("announce"), to: addressSchema, bestEffort: z.boolean() }),
  /** With `bestEffort` it is called once, and not again when it did not answer. */
  z.object({ kind: z.literal("webhook"), url: z.url({ protocol: /^https?$/ }), bestEffort: z.boolean() }),
]);

const ownerSchema = z.object({
  /** A turn's tool call, a person's chat command, or an operator's `parley cron`. */
  kind: z.enum(["turn", "command", "operator"]),
  /** `<channel>:<id>` of the person; null for an operator. */
  sender: z.string().nullable(),
  isOwner: z.boolean(),
  /** The conversation that alerts go to; null: the agent's owner. */
  conversation: addressSchema.nullable(),
  session: z.string().nullable(),
  turn: z.string().nullable(),
  /** The authority that a row of the maker had then, and the tools that it allowed; null: all. */
  authority: z.string(),
  tools: z.array(z.string().max(100)).max(500).nullable(),
  /** The turn that made it had read text of strangers, from there: so has every run. */
  untrusted: z.string().max(1_000).exactOptional(),
});

export const outcomes = ["ok", "silent", "failed", "skipped", "missed", "superseded"] as const;

const stateSchema = z.object({
  /** Every instant until here is decided: it fired, or is counted as missed. */
  decidedMs: instant,
  /** The instant that the job waits for, without its stagger. */
  nextMs: instant.nullable(),
  /** Of a watch: the last change that was decided, by its number and by what was seen then. */
  seen: z.object({ generation: count, digest: z.string(), atMs: instant }).exactOptional(),
  /** Slots whose rows were accepted. */
  runs: count,
  missed: count,
  last: z
    .object({
      slot: z.string(),
      instantMs: instant,
      endedAtMs: instant,
      outcome: z.enum(outcomes),
      reason: z.string().max(1_000).nullable(),
    })
    .nullable(),
  consecutiveErrors: count,
  /** No slot fires for so long after the last end. */
  backoffMs: count,
  alertedAtMs: instant.nullable(),
  /** Set by Parley itself, where `enabled` is what people say. */
  paused: z
    .object({
      reason: z.string().max(1_000),
      atMs: instant,
      /** Until something comes from there again; absent: until somebody resumes it. */
      until: addressSchema.exactOptional(),
    })
    .nullable(),
});

export const misfirePolicies = ["latest", "all", "none"] as const;
export const overlapPolicies = ["skip", "queue", "replace"] as const;
export const wakeModes = ["now", "next-heartbeat"] as const;

const jobSchema = z.object({
  v: z.literal(1),
  id: jobIdSchema,
  name,
  agent: z.string().min(1),
  owner: ownerSchema,
  schedule: scheduleSchema,
  /** Instants are spread by a fixed part of this, made from the job's id; 0: exact. */
  staggerMs: z.int().min(0).max(mostStaggerMs),
  payload: payloadSchema,
  target: targetSchema,
  wake: z.enum(wakeModes),
  delivery: deliverySchema,
  misfire: z.enum(misfirePolicies),
  overlap: z.enum(overlapPolicies),
  catchUpMs: z.int().min(leastCatchUpMs).max(mostCatchUpMs),
  maxRuns: z.int().min(1).nullable(),
  deleteAfterRun: z.boolean(),
  enabled: z.boolean(),
  timeoutSeconds: z.int().min(1).max(86_400),
  /** Tokens that all runs of one day may use; null: only the agent's own caps hold. */
  mostTokensPerDay: z.int().min(1).nullable(),
  /** Grows with each edit. A row of an older version does not run. */
  version: z.int().min(1),
  createdAtMs: instant,
  editedAtMs: instant,
  /** Since when this schedule holds: earlier instants belong to another one, or to a pause. */
  effectiveFromMs: instant,
  state: stateSchema,
});

export type Job = z.infer<typeof jobSchema>;

export type JobOwner = Job["owner"];
export type Schedule = Job["schedule"];

export function formatJob(job: Job): string {
  return JSON.stringify(job);
}

/** Null for a form that this version does not know. */
export function parseJob(text: string): Job | null {
  const parsed = jobSchema.safeParse(JSON.parse(text));
  return parsed.success ? parsed.data : null;
}
