// Tells refusals that are about a file's size, ours and the platforms', so that words can take the file's
// place. Places of one platform differ in what they take, so only the send tells.
import { isDiscordTooLarge } from "./discord/refusals.ts";
import { isOverLimit } from "./over-limit.ts";
import { isTelegramTooLarge } from "./telegram/refusals.ts";

/** True for a Fault after which nothing was sent, because a file is too large for this place. */
export function fileIsTooLarge(error: unknown): boolean {
  return isOverLimit(error) || isDiscordTooLarge(error) || isTelegramTooLarge(error);
}
