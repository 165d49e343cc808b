// The channel's notes that outlive the process, as small JSON documents: the session with its last accepted
// sequence, conversations to check after a gap, slash commands that still wait for an answer, and forms
// behind buttons. All may be lost, because rows have their own guards against duplicates.
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
  /**
   * Ids of the bot and of the application that owns its slash commands; Discord tells them only at the start
   * of a session.
   */
  user: z.string(),
  application: z.string(),
  resumeUrl: z.string(),
  /** Sequence of the last accepted event. */
  sequence: z.number().int(),
  /** The newest accepted message. */
  lastMessageId: z.string().refine(isSnowflake).nullable(),
  identifiedAtMs: z.number(),
  /** The gap before this session, while some of it is still to be found. */
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
    /** For a private chat, the person. */
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
    /** Only the person who gave the command sees the answer. */
    quiet: z.literal(true).optional(),
  }),
);
export type OpenInteraction = z.infer<typeof interactionsSchema>[number];

/** Null for a note that is missing or cannot be read. */
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
