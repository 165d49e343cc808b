// Tells refusals of a message in which a platform sees nothing, so that it does not take along those behind
// it.
import { isDiscordBlank } from "./discord/refusals.ts";
import { isTelegramBlank } from "./telegram/refusals.ts";

/** True for a Fault after which nothing was sent, because there is nothing to see in it. */
export function showsNothing(error: unknown): boolean {
  return isTelegramBlank(error) || isDiscordBlank(error);
}
