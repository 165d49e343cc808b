// The story of one message as `parley why` and /why tell it, from the platform's event to the receipts of its
// answer. Times are milliseconds since the epoch. Reasons are for operators: they may name errors, and never
// go to a chat (I8).
import { z } from "zod";

const step = z.object({
  /** `joined`: rows that arrived meanwhile became part of the turn. */
  kind: z.enum(["model", "tool", "joined"]),
  /** Name of the model or tool, or the ids of the rows that joined. */
  name: z.string(),
  /** The model's stop reason (`stop`, `toolUse`, ...), or `ok`, `failed` or `started` for a tool. */
  end: z.string(),
});

const turn = z.object({
  id: z.string(),
  state: z.enum(["running", "parked", "done"]),
  attempt: z.number().int(),
  openedAtMs: z.number(),
  endedAtMs: z.number().nullable(),
  stop: z.string().nullable(),
  /** Tickets that a parked turn waits for. */
  tickets: z.array(z.string()),
  /** All rows that the turn answers, in order. */
  rows: z.array(z.string()),
  steps: z.array(step),
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheReadTokens: z.number(),
  costUsd: z.number().optional(),
});

const part = z.object({
  state: z.enum(["queued", "sending", "sent", "failed", "ambiguous"]),
  attempts: z.number().int(),
  /** True when people may have seen it twice. */
  flagged: z.boolean(),
  /** Platform message id from the receipt. */
  messageId: z.string().nullable(),
  /** When the last attempt to send it began. */
  startedAtMs: z.number().nullable(),
  reason: z.string().nullable(),
});

export const deliverySchema = z.object({
  id: z.string(),
  conversation: z.string(),
  cause: z.string(),
  createdAtMs: z.number(),
  /** `open`: a preview that is still growing. */
  state: z.enum(["waiting", "open", "sent", "failed", "ambiguous"]),
  /** The beginning of its text. */
  text: z.string(),
  parts: z.array(part),
});

export const rowSchema = z.object({
  id: z.string(),
  session: z.string(),
  conversation: z.string(),
  /** Null when the words were not kept (refused) or cannot be read. */
  messageId: z.string().nullable(),
  sender: z.string().nullable(),
  /** The beginning of what the person said. */
  text: z.string(),
  /** When it was sent, according to the platform. */
  sentAtMs: z.number().nullable(),
  receivedAtMs: z.number(),
  state: z.enum(["waiting", "claimed", "context", "ended"]),
  outcome: z.string().nullable(),
  reason: z.string().nullable(),
  endedAtMs: z.number().nullable(),
});

export const storySchema = z.object({
  row: rowSchema,
  admitted: z.boolean(),
  waitedMs: z.number(),
  /** Turns of the same lane that were running when it arrived. */
  waitedFor: z.array(z.string()),
  turn: turn.nullable(),
  deliveries: z.array(deliverySchema),
  /** What it waits for now; null once everything has ended. */
  now: z.string().nullable(),
  /** The same story as plain lines. */
  words: z.array(z.string()),
});

export type Story = z.infer<typeof storySchema>;
export type StoryTurn = z.infer<typeof turn>;
export type StoryStep = z.infer<typeof step>;
export type RowStory = z.infer<typeof rowSchema>;
export type DeliveryStory = z.infer<typeof deliverySchema>;
