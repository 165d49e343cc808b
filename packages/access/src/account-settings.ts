// What the config says of one account, by the account's key `<channel>:<account>`. An account that the config does not have, or whose channel
// has no such setting, gets the setting's default and never a fault: its last messages may still be under way.
import type { Config, Streaming } from "@parley/config";

/** Which reactions the agent hears of: none, those to its own messages, or all. */
export type ReactionNotifications = "off" | "own" | "all";

/** How answers grow. */
export function streamingOf(config: Config, account: string): Streaming {
  return settingsOf(config, account)?.streaming ?? "off";
}

/** Whether answers quote what they answer. */
export function quotesOf(config: Config, account: string): boolean {
  return settingsOf(config, account)?.replyToMode === "first";
}

export function reactionsWanted(config: Config, account: string): ReactionNotifications {
  return settingsOf(config, account)?.reactionNotifications ?? "own";
}

/** Whether its messages wait for each other. */
export function isPaced(config: Config, account: string): boolean {
  return settingsOf(config, account)?.pacing === "on";
}

function settingsOf({ channels }: Config, account: string) {
  const [channel, id = ""] = account.split(":");
  return channel === "telegram" || channel === "discord" ? channels[channel][id] : undefined;
}
