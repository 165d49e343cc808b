// What the rest of Parley reads of channels.*: one account each, complete, merged with what its channel says for all of them. A list that is
// absent does not exist; an empty one lists nobody.
import type { Secret } from "./secret.ts";
import type { ToolRulesConfig } from "./tools.ts";

export type DmPolicy = "pairing" | "allowlist" | "open" | "disabled";
export type GroupPolicy = "allowlist" | "open" | "disabled";
export type Streaming = "edit" | "off" | "block";

export type ReactionLevel = "off" | "minimal" | "extensive";

export interface TelegramAccountConfig {
  readonly botToken: Secret;
  readonly apiRoot: string;
  readonly proxy?: Secret;
  readonly dmPolicy: DmPolicy;
  readonly allowFrom: readonly string[];
  readonly groupPolicy: GroupPolicy;
  readonly groupAllowFrom: readonly string[];
  /** The list of groups that are served; "*" stands for all others. Absent: there is no list; empty: it lists none. */
  readonly groups?: { readonly [chat: string]: TelegramGroupConfig };
  readonly allowBots: boolean | "mentions";
  readonly streaming: Streaming;
  readonly replyToMode: "off" | "first";
  readonly pacing: "on" | "off";
  readonly reactionNotifications: "off" | "own" | "all";
  readonly reactionLevel?: ReactionLevel;
  readonly inlineButtons: "off" | "dm" | "group" | "all" | "allowlist";
  readonly webhook?: { readonly url: string; readonly secret: Secret };
}

/** What the config says of a shared place itself; what is absent is inherited. */
export interface PlaceConfig {
  readonly enabled?: boolean;
  readonly requireMention?: boolean;
  readonly tools?: ToolRulesConfig;
  readonly skills?: readonly string[];
  readonly systemPrompt?: string;
  readonly agentId?: string;
}

export interface TelegramTopicConfig extends PlaceConfig {
  readonly allowFrom?: readonly string[];
}

export interface TelegramGroupConfig extends TelegramTopicConfig {
  readonly groupPolicy?: GroupPolicy;
  readonly topics?: { readonly [topic: string]: TelegramTopicConfig };
}

export interface DiscordAccountConfig {
  readonly token: Secret;
  readonly apiRoot: string;
  readonly dmPolicy: DmPolicy;
  readonly allowFrom: readonly string[];
  readonly groupPolicy: GroupPolicy;
  /** As `groups`. */
  readonly guilds?: {
    readonly [guild: string]: DiscordPlaceConfig & {
      readonly channels?: { readonly [channel: string]: DiscordPlaceConfig };
    };
  };
  readonly allowBots: boolean | "mentions";
  readonly streaming: Streaming;
  readonly replyToMode: "off" | "first";
  readonly pacing: "on" | "off";
  readonly reactionNotifications: "off" | "own" | "all";
  readonly suppressEmbeds: boolean;
  readonly messageContent: boolean;
  readonly reactionLevel?: ReactionLevel;
}

export interface DiscordPlaceConfig extends PlaceConfig {
  readonly users?: readonly string[];
  readonly roles?: readonly string[];
  readonly ignoreOtherMentions?: boolean;
}
