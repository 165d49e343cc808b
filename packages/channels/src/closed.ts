// Whether a whole conversation is closed to us, whichever platform says so.
import { discordChatIsClosed } from "./discord/refusals.ts";
import { chatIsClosed as telegramChatIsClosed } from "./telegram/refusals.ts";

/** A Fault that says so until something comes from there: blocked, removed, deleted. */
export function chatIsClosed(error: unknown): boolean {
  return telegramChatIsClosed(error) || discordChatIsClosed(error);
}
