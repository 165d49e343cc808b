// Names who wrote a message, by an id that belongs to them alone.
import type { Chat, Message } from "grammy/types";
import type { Inbound } from "@parley/protocol";
import { personName } from "./content.ts";

/**
 * Channels and anonymous admins write as a chat; their `from` is a placeholder that many share, so it
 * identifies nobody.
 */
export function senderOf(message: Message): Inbound["sender"] {
  if (message.sender_chat !== undefined) return chatSender(message.sender_chat);
  if (message.from === undefined)
    return chatSender(message.chat.type === "channel" ? message.chat : undefined);
  return { id: String(message.from.id), name: personName(message.from), isBot: message.from.is_bot === true };
}

/** `chat:<id>`, which never equals a person's id. */
export function chatSender(chat: Chat | undefined): Inbound["sender"] {
  if (chat === undefined) throw new Error("it names no sender");
  return { id: `chat:${chat.id}`, name: chat.title ?? "", isBot: false };
}
