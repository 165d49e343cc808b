// Reads the valid parts of a message, a press or a reaction whose other parts do not have the form that the
// Bot API promises. It never guesses place and author, and throws without them and without the message's own
// id.
import type { CallbackQuery, Message, MessageReactionUpdated, PollAnswer } from "grammy/types";
import { unsupportedKinds } from "./content.ts";
import { amount, count, finite, flag, integer, list, object, type Part, text } from "../salvage.ts";

const person = object({ id: integer }, { is_bot: flag, first_name: text, last_name: text, username: text });
const chat = object({ id: integer, type: text }, { title: text, is_forum: flag });
const facts = {
  file_name: text,
  mime_type: text,
  file_size: count,
  duration: amount,
  width: amount,
  height: amount,
};
const file = object({ file_id: text }, facts);
const film = object({ file_id: text }, { ...facts, thumbnail: object({ file_id: text }) });
const location = object({ latitude: finite, longitude: finite });
const entity = object({ type: text, offset: count, length: count }, { user: person });

/** Even with an unreadable origin, forwarded words do not count as the sender's own. */
const origin: Part = (value, at, left) => {
  const forms: { readonly [type: string]: Part } = {
    user: object({ type: text, sender_user: person }),
    hidden_user: object({ type: text, sender_user_name: text }),
    chat: object({ type: text, sender_chat: chat }),
    channel: object({ type: text, chat }),
  };
  const { type } = (value ?? {}) as { readonly type?: unknown };
  const form = typeof type === "string" && Object.hasOwn(forms, type) ? forms[type] : undefined;
  if (form === undefined) left.push(at);
  return form?.(value, at, left) ?? { type: "hidden_user", sender_user_name: "somebody" };
};

const content = {
  text,
  caption: text,
  entities: list(entity),
  caption_entities: list(entity),
  photo: list(file),
  animation: film,
  document: file,
  video: film,
  video_note: film,
  audio: object({ file_id: text }, { ...facts, title: text }),
  voice: file,
  sticker: object({ file_id: text }, { ...facts, emoji: text, is_video: flag, is_animated: flag }),
  venue: object({ title: text, address: text, location }),
  location,
  contact: object({ phone_number: text, first_name: text }, { last_name: text }),
  poll: object({ question: text, options: list(object({ text })) }),
  dice: object({ emoji: text, value: finite }),
  ...Object.fromEntries(unsupportedKinds.map((kind) => [kind, object({})])),
};

const quote = object({ text });
const quoted = object(
  { message_id: integer },
  { ...content, from: person, sender_chat: chat, forum_topic_created: object({}, { name: text }) },
);

const whole = object(
  { message_id: integer, chat },
  {
    ...content,
    date: integer,
    edit_date: integer,
    media_group_id: text,
    forward_origin: origin,
    reply_to_message: quoted,
    external_reply: object({ origin }, { message_id: integer }),
    quote,
    migrate_to_chat_id: integer,
    migrate_from_chat_id: integer,
  },
);

/** Parts that name author and place; when present but unreadable, reading fails. */
const identity = {
  from: person,
  sender_chat: chat,
  message_thread_id: integer,
  is_topic_message: flag,
} as const;

const button = object(
  { id: text, from: person },
  { data: text, message: object({ message_id: integer, chat }, { text, caption: text }) },
);
const reactionType = object({ type: text }, { emoji: text, custom_emoji_id: text });
const reaction = object(
  { chat, message_id: integer, old_reaction: list(reactionType), new_reaction: list(reactionType) },
  { user: person, actor_chat: chat, date: integer },
);

const vote = object({ poll_id: text, option_ids: list(integer) }, { user: person, voter_chat: chat });

export interface Salvaged {
  readonly message: Message;
  /** Paths of the parts that were left out. */
  readonly left: readonly string[];
}

/** Throws when the message's id, place or author cannot be read. */
export function salvage(message: unknown, nowMs: number): Salvaged {
  const left: string[] = [];
  const read = needed(whole, message, "message", left);
  addIdentity(read, message, "message", left);
  if (read["date"] === undefined) {
    left.push("message.date");
    read["date"] = Math.floor(nowMs / 1000);
  }
  return { message: read as unknown as Message, left };
}

/**
 * Without a message or a value it is a press of a button that is not ours. Throws when the person cannot be
 * read.
 */
export function salvageQuery(query: unknown): CallbackQuery {
  const read = needed(button, query, "callback_query", []);
  const { message } = query as { readonly message?: unknown };
  const at = read["message"] as Record<string, unknown> | undefined;
  if (at !== undefined) addIdentity(at, message, "callback_query.message", []);
  return read as unknown as CallbackQuery;
}

/** Throws when the message reacted to cannot be read. */
export function salvageReaction(given: unknown, nowMs: number): MessageReactionUpdated {
  const read = needed(reaction, given, "message_reaction", []);
  return { date: Math.floor(nowMs / 1000), ...read } as unknown as MessageReactionUpdated;
}

/** Throws when the poll or the choice cannot be read. */
export function salvageVote(given: unknown): PollAnswer {
  return needed(vote, given, "poll_answer", []) as unknown as PollAnswer;
}

function needed(part: Part, value: unknown, at: string, left: string[]): Record<string, unknown> {
  const read = part(value, at, left) as Record<string, unknown> | undefined;
  if (read === undefined) throw new Error(`it has no readable ${left.at(-1) ?? at}`);
  return read;
}

function addIdentity(read: Record<string, unknown>, from: unknown, at: string, left: string[]): void {
  const given = from as Readonly<Record<string, unknown>>;
  for (const [key, part] of Object.entries(identity)) {
    const value = given[key];
    if (value === undefined || value === null) continue;
    const found = part(value, `${at}.${key}`, left);
    if (found === undefined) throw new Error(`it has no readable ${left.at(-1) ?? key}`);
    read[key] = found;
  }
}
