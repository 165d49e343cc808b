// Translates addresses into the chat and thread ids of Telegram's calls.
import { type Address, Fault } from "@parley/protocol";

/**
 * Thread id of a forum's General topic. Sends must leave it out (else "message thread not found"); typing
 * must name it.
 */
export const generalThread = "1";

/** Throws Fault("invalid") for an address that is no Telegram chat. */
export function destination(to: Address): { readonly chat_id: number; readonly message_thread_id?: number } {
  const chat = chatId(to);
  return to.thread === undefined || to.thread === generalThread
    ? chat
    : { ...chat, message_thread_id: wholeNumber(to.thread, "thread") };
}

/** Telegram's ids have at most 52 significant bits, so a number holds them (Bot API, Chat.id). */
export function chatId(to: Address): { readonly chat_id: number } {
  return { chat_id: wholeNumber(to.peer, "chat") };
}

export function wholeNumber(text: string, what: string): number {
  const number = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(number))
    throw new Fault("invalid", `"${text}" is not a Telegram ${what} id: it must be a whole number`);
  return number;
}
