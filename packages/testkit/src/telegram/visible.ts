// Shows what a person would see in a chat now: every message once, in order, after all edits and deletions.
import type { Chat, Message } from "./world.ts";

export interface VisibleMessage {
  readonly id: number;
  /** The sender's first name. */
  readonly from: string;
  readonly byBot: boolean;
  /** Text, caption or poll question; empty for a bare file. */
  readonly text: string;
  readonly entities: Message["entities"];
  /** `text`, or the field that holds the content: photo, document, voice, poll ... */
  readonly kind: string;
  readonly thread?: number;
  readonly replyTo?: number;
  readonly edited: boolean;
  readonly pinned: boolean;
  /** Rows of labels. */
  readonly buttons: readonly (readonly string[])[];
  /** Emoji, one for each person or bot that reacted. */
  readonly reactions: readonly string[];
}

const contents = [
  "text",
  "photo",
  "document",
  "audio",
  "video",
  "video_note",
  "animation",
  "voice",
  "poll",
  "location",
  "sticker",
];

export function visibleMessages(chat: Chat, thread?: number): readonly VisibleMessage[] {
  return [...chat.messages.values()]
    .filter((message) => thread === undefined || message["message_thread_id"] === thread)
    .map((message) => visibleMessage(chat, message));
}

function visibleMessage(chat: Chat, message: Message): VisibleMessage {
  const poll = message["poll"] as { readonly question: string } | undefined;
  const threadId = message["message_thread_id"] as number | undefined;
  const quoted = message["reply_to_message"] as Message | undefined;
  const reactions = [...(chat.reactions.get(message.message_id)?.values() ?? [])].flat() as readonly {
    readonly emoji?: string;
  }[];
  return {
    id: message.message_id,
    from: message.from?.first_name ?? chat.title,
    byBot: message.from?.is_bot === true,
    text: message.text ?? message.caption ?? poll?.question ?? "",
    entities: message.entities ?? (message["caption_entities"] as Message["entities"]),
    kind: contents.find((field) => message[field] !== undefined) ?? "service",
    ...(threadId === undefined ? {} : { thread: threadId }),
    ...(quoted === undefined ? {} : { replyTo: quoted.message_id }),
    edited: message["edit_date"] !== undefined,
    pinned: chat.pinned.has(message.message_id),
    buttons: (message.reply_markup?.inline_keyboard ?? []).map((row) => row.map((button) => button.text)),
    reactions: reactions.map((reaction) => reaction.emoji ?? "custom"),
  };
}
