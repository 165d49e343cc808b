// The types of channels.*: one account each, merged with what its channel says for all of them, every default
// filled. A list that is absent does not exist; an empty one lists nobody.
import type { ConfigFile } from "./schema/root.ts";
import type { Secret } from "./secret.ts";

type TelegramFile = ConfigFile["channels"]["telegram"]["accounts"][string];
type DiscordFile = ConfigFile["channels"]["discord"]["accounts"][string];

/** An account without the keys `Gone`; of the others only `Optional` may be absent. */
type Account<File, Gone extends keyof File, Optional extends keyof File> = Required<
  Omit<File, Gone | Optional>
> &
  Pick<File, Optional>;

export interface TelegramAccountConfig extends Account<
  TelegramFile,
  "enabled" | "capabilities" | "webhookUrl" | "webhookSecret",
  "proxy" | "groups" | "reactionLevel" | "ackReaction" | "ackReactionScope" | "customCommands"
> {
  readonly inlineButtons: NonNullable<NonNullable<TelegramFile["capabilities"]>["inlineButtons"]>;
  readonly webhook?: { readonly url: string; readonly secret: Secret };
}

export interface DiscordAccountConfig extends Account<
  DiscordFile,
  "enabled" | "intents" | "slashCommand",
  "guilds" | "reactionLevel" | "ackReaction" | "ackReactionScope"
> {
  readonly messageContent: boolean;
  /** Which commands' answers only the asker sees in servers; absent: of those that only tell something. */
  readonly ephemeral?: boolean;
}

export type DmPolicy = TelegramAccountConfig["dmPolicy"];
export type GroupPolicy = TelegramAccountConfig["groupPolicy"];
export type Streaming = TelegramAccountConfig["streaming"];
export type ReactionLevel = NonNullable<TelegramFile["reactionLevel"]>;

export type TelegramGroupConfig = NonNullable<TelegramFile["groups"]>[string];
type TelegramTopicConfig = NonNullable<TelegramGroupConfig["topics"]>[string];

/** What the config says of a shared place itself on every channel; what is absent is inherited. */
export type PlaceConfig = Omit<TelegramTopicConfig, "allowFrom">;
