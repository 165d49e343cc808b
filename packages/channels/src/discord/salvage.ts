// Reads the valid parts of a message whose other parts do not have the form that Discord promises. It never
// guesses author and place, and throws without them.
import { amount, count, flag, integer, list, object, snowflakeId, text } from "../salvage.ts";
import { absentFields } from "./content.ts";
import type { MessageEvent } from "./normalize.ts";

const person = object({ id: snowflakeId }, { username: text, global_name: text, bot: flag });
const answer = object({ poll_media: object({}, { text }) });
const content = {
  content: text,
  flags: count,
  mentions: list(person),
  mention_roles: list(snowflakeId),
  attachments: list(
    object(
      { id: snowflakeId, filename: text, url: text },
      { size: count, content_type: text, duration_secs: amount, description: text },
    ),
  ),
  embeds: list(
    object(
      {},
      { type: text, title: text, description: text, fields: list(object({ name: text, value: text })) },
    ),
  ),
  sticker_items: list(object({ name: text })),
  poll: object({ question: object({}, { text }), answers: list(answer) }),
} as const;

const more = {
  ...content,
  type: integer,
  timestamp: text,
  edited_timestamp: text,
  components: list(object({})),
  member: object({}, { nick: text, roles: list(snowflakeId) }),
  message_reference: object({}, { message_id: snowflakeId, type: integer }),
  message_snapshots: list(object({ message: object({}, content) })),
  referenced_message: object({ id: snowflakeId }, { ...content, author: person }),
} as const;

const whole = object({ id: snowflakeId, channel_id: snowflakeId, author: person }, more);
/**
 * When present but unreadable, it throws: a server's message must not pass for a private one, nor a program's
 * for a person's.
 */
const identity = { guild_id: snowflakeId, webhook_id: snowflakeId } as const;

export interface Salvaged {
  readonly message: MessageEvent;
  /** Paths of the parts that were left out. */
  readonly left: readonly string[];
}

/**
 * Throws when the message's id, place or author cannot be read. Absent parts get the value that Discord uses
 * for nothing.
 */
export function salvage(told: unknown): Salvaged {
  const left: string[] = [];
  const read = whole(told, "message", left) as Record<string, unknown> | undefined;
  if (read === undefined) throw new Error(`it has no readable ${left.at(-1) ?? "message"}`);
  for (const [key, part] of Object.entries(identity)) {
    const value = (told as Readonly<Record<string, unknown>>)[key];
    if (value === undefined || value === null) continue;
    const found = part(value, `message.${key}`, left);
    if (found === undefined) throw new Error(`it has no readable message.${key}`);
    read[key] = found;
  }
  return { message: { ...absentFields, ...read } as unknown as MessageEvent, left };
}
