// Tells whether a conversation is closed to us, on any platform, and how much of it.
import type { Address } from "@parley/protocol";
import { discordChannelIsGone, discordChatIsClosed } from "./discord/refusals.ts";
import { chatIsClosed as telegramChatIsClosed } from "./telegram/refusals.ts";

/**
 * True for a Fault that says so (blocked, removed, deleted); the chat stays closed until something comes from
 * it.
 */
export function chatIsClosed(error: unknown): boolean {
  return telegramChatIsClosed(error) || discordChatIsClosed(error);
}

/** What such a Fault closes: the address's thread alone, or (without a thread) all of its chat. */
export function closedPlace(error: unknown, { thread, ...chat }: Address): Address {
  return thread !== undefined && discordChannelIsGone(error) ? { ...chat, thread } : chat;
}
