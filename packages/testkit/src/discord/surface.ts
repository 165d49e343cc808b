// Defines a test's controls over the fake Discord: play people, break calls and connections, read what people
// would see.
import type { APIApplicationCommand, APIInteractionResponse } from "discord-api-types/v10";
import type { FaultRule } from "../faults.ts";
import type { GatewayControls } from "./gateway/controls.ts";
import type { DiscordPerson, PersonOptions } from "./person.ts";
import type { DiscordCall } from "./rest/call.ts";
import type { DiscordVisible } from "./visible.ts";
import type { Privileged, Right } from "./model.ts";

export interface DiscordBotOptions {
  readonly username?: string;
  /**
   * Switches of the developer portal; all on unless named here. What is off is refused with 4014 at identify.
   */
  readonly privileged?: readonly Privileged[];
}

export interface FakeDiscordBot {
  readonly token: string;
  /** Id of the bot user and of its application. */
  readonly id: string;
  readonly username: string;
  /** The commands that the bot registered; of one guild when it is named. */
  commands(guild?: string): readonly APIApplicationCommand[];
  /** The direct channel with a person, or undefined before anybody opened it. */
  dm(user: string): string | undefined;
  /** Turns a switch of the developer portal. */
  setPrivileged(allowed: readonly Privileged[]): void;
  /** Makes the token invalid, as a reset in the portal does. */
  revoke(): void;
}

export interface GuildOptions {
  readonly id?: string;
  readonly name?: string;
  /** Boost tier: files up to 10, 10, 50 and 100 MiB. */
  readonly tier?: 0 | 1 | 2 | 3;
}

export interface ChannelOptions {
  readonly guild: string;
  readonly id?: string;
  readonly name?: string;
  readonly topic?: string;
  readonly kind?: "text" | "announcement" | "voice" | "category" | "forum" | "media";
  /** The category. */
  readonly parent?: string;
  /** Tags that a forum offers. */
  readonly tags?: readonly string[];
}

interface ThreadOptions {
  readonly title: string;
  /** Hangs the thread on this message. */
  readonly message?: string;
  readonly isPrivate?: boolean;
}

/** One place as tests may change it. */
interface FakeChannel {
  readonly id: string;
  /** Takes rights from the bot here: `view` answers 50001, the others 50013. */
  deny(...rights: readonly Right[]): void;
  allow(...rights: readonly Right[]): void;
  archive(isArchived?: boolean): void;
  lock(isLocked?: boolean): void;
  rename(name: string): void;
  /** Removes the channel with its threads. */
  remove(): void;
  /** Users who typed in the last ten seconds, by id. */
  typing(): readonly string[];
}

/** The state of an interaction. */
interface InteractionFate {
  readonly id: string;
  readonly token: string;
  /** `waiting` up to 3 s, then `failed` ("The application did not respond"). */
  readonly state: "waiting" | "deferred" | "answered" | "failed";
  readonly response: APIInteractionResponse | null;
  /** Id of the original response, once there is one. */
  readonly messageId: string | undefined;
}

export interface FakeDiscord {
  readonly url: string;
  /**
   * What a client takes for https://discord.com/api: REST adds /v10. The gateway's address stands in
   * /gateway/bot.
   */
  readonly apiRoot: string;
  readonly gateway: GatewayControls;
  /**
   * The bot of this token, made on first use. Direct messages go to the first bot unless `as` names another.
   */
  bot(token?: string, options?: DiscordBotOptions): FakeDiscordBot;
  /** Makes a server with all bots in it; returns its id. */
  guild(options?: GuildOptions): string;
  /** Makes a role; returns its id. */
  role(guild: string, name: string): string;
  /** Adds an emoji of a server's own; returns its id. */
  emoji(guild: string, name: string): string;
  /** Makes a channel; returns its id. */
  channel(options: ChannelOptions): string;
  /** Makes a thread or, in a forum, a post without a text; returns its id. */
  thread(channel: string, options: ThreadOptions): string;
  at(channel: string): FakeChannel;
  as(user: string | PersonOptions, token?: string): DiscordPerson;
  interaction(id: string): InteractionFate;
  /** Calls by route, as `POST /channels/:channel/messages`. */
  calls(route?: string): readonly DiscordCall[];
  /** Returns a channel's messages as people see them. Only `viewer` sees ephemeral ones. */
  visible(channel: string, viewer?: string): readonly DiscordVisible[];
  /** The client's mistakes; a test of a good client ends with this empty. */
  violations(): readonly string[];
  /** Breaks REST calls and downloads: `method` is the route, or "download". */
  inject(rule: FaultRule): void;
  /** Forgets all fault rules, of REST and of the gateway. */
  heal(): void;
  close(): Promise<void>;
}
