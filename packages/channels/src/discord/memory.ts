// What outlives the process, as small JSON documents: the session with the last accepted sequence, the conversations to look at after a
// gap, the slash commands that still wait for an answer, the forms behind buttons. All of it may be lost: rows keep their own guards against repeats.
import { z } from "zod";
import type { Log } from "@parley/protocol";
import { isSnowflake } from "./snowflake.ts";

export type MemoryName = "session" | "watched" | "interactions" | "forms";

export interface DiscordMemory {
  load(name: MemoryName): Promise<string | null>;
  save(name: MemoryName, text: string): Promise<void>;
}

export const sessionSchema = z.object({
  id: z.string().nullable(),
  /** Who we are, and the application that our slash commands belong to: told at the beginning of a session only. */
  user: z.string(),
  application: z.string(),
  resumeUrl: z.string(),
  /** Of the last event that was accepted. */
  sequence: z.number().int(),
  /** Newest accepted message. */
  lastMessageId: z.string().refine(isSnowflake).nullable(),
  identifiedAtMs: z.number(),
  /** What was before this session and is still to be looked for. */
  gap: z
    .object({
      session: z.string(),
      since: z.string().refine(isSnowflake),
      guilds: z.array(z.string()).readonly(),
    })
    .optional(),
});
export type SessionNote = z.infer<typeof sessionSchema>;

export const watchedSchema = z.array(
  z.object({
    channel: z.string(),
    guild: z.string().optional(),
    /** Of a private chat: its person. */
    user: z.string().optional(),
    seenAtMs: z.number(),
  }),
);
export type Watched = z.infer<typeof watchedSchema>[number];

export const interactionsSchema = z.array(
  z.object({
    /** Id of the inbound event. */
    event: z.string(),
    application: z.string(),
    token: z.string(),
    atMs: z.number(),
    /** Idempotency key of the send that answers it. */
    takenBy: z.string().optional(),
    /** Shown to whoever gave it alone. */
    quiet: z.literal(true).optional(),
  }),
);
export type OpenInteraction = z.infer<typeof interactionsSchema>[number];

/** Null for what is not there or cannot be read. */
export async function recall<T>(
  memory: DiscordMemory,
  name: MemoryName,
  schema: z.ZodType<T>,
  log: Log,
): Promise<T | null> {
  try {
    const text = await memory.load(name);
    return text === null ? null : schema.parse(JSON.parse(text));
  } catch (error) {
    log.warn({ name, error }, "what was noted about Discord cannot be read: beginning anew");
    return null;
  }
}
