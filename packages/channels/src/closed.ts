// Tells whether a conversation is closed to us, on any platform.
import { discordChatIsClosed } from "./discord/refusals.ts";
import { chatIsClosed as telegramChatIsClosed } from "./telegram/refusals.ts";

/**
 * True for a Fault that says so (blocked, removed, deleted); the chat stays closed until something comes from
 * it.
 */
export function chatIsClosed(error: unknown): boolean {
  return telegramChatIsClosed(error) || discordChatIsClosed(error);
}
