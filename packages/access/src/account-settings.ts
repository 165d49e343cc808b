// Reads the settings of one account by its key `<channel>:<account>`. An account or setting that the config
// does not have yields the default, never a Fault, because messages of a removed account may still be under
// way.
import type { Config, Streaming } from "@parley/config";

/** The reactions that the agent is told of: none, those to its own messages, or all. */
export type ReactionNotifications = "off" | "own" | "all";

/** Returns how answers are streamed. */
export function streamingOf(config: Config, account: string): Streaming {
  return settingsOf(config, account)?.streaming ?? "off";
}

/** Returns whether answers quote the message they answer. */
export function quotesOf(config: Config, account: string): boolean {
  return settingsOf(config, account)?.replyToMode === "first";
}

export function reactionsWanted(config: Config, account: string): ReactionNotifications {
  return settingsOf(config, account)?.reactionNotifications ?? "own";
}

/** Returns whether the account's messages are rate limited. */
export function isPaced(config: Config, account: string): boolean {
  return settingsOf(config, account)?.pacing === "on";
}

/** The emoji for messages that the agent begins to work on, and which of them get it; null: none does. */
export function ackOf(
  { channels, messages }: Config,
  account: string,
): { readonly emoji: string; readonly scope: AckScope } | null {
  const own = settingsOf({ channels }, account);
  const emoji = own?.ackReaction ?? messages.ackReaction;
  const scope = own?.ackReactionScope ?? messages.ackReactionScope;
  return own === undefined || emoji === undefined || scope === "off" ? null : { emoji, scope };
}

type AckScope = Exclude<Config["messages"]["ackReactionScope"], "off">;

function settingsOf({ channels }: Pick<Config, "channels">, account: string) {
  const [channel, id = ""] = account.split(":");
  return channel === "telegram" || channel === "discord" ? channels[channel][id] : undefined;
}
