// Defines the fake Discord's data: bots, guilds, channels and threads with their messages, reactions, files,
// interactions.
import {
  type APIApplicationCommand,
  type APIEmoji,
  type APIInteractionResponse,
  type APIMessage,
  type APIRole,
  type APIUser,
  ChannelType,
  type InteractionType,
} from "discord-api-types/v10";
import type { UploadedFile } from "../telegram/body.ts";

export type Privileged = "messageContent" | "guildMembers" | "presence";
/** A right that a test may take from the bot in a channel. */
export type Right = "view" | "send" | "history" | "react" | "attach" | "threads" | "manage" | "voice";

export interface Bot {
  readonly token: string;
  readonly user: APIUser;
  privileged: ReadonlySet<Privileged>;
  isRevoked: boolean;
  /** By name; the key of global commands is "", of a guild's its id. */
  readonly commands: Map<string, Map<string, APIApplicationCommand>>;
  /** Instants of command creations, for the daily limit. */
  readonly commandCreations: number[];
  /** By user id. */
  readonly dms: Map<string, Channel>;
  /** Messages by the nonce that they were created with. */
  readonly nonces: Map<
    string,
    { readonly channel: Channel; readonly message: APIMessage; readonly atMs: number }
  >;
}

export interface Member {
  readonly user: APIUser;
  readonly nick: string | null;
  readonly roles: readonly string[];
  readonly joinedAt: string;
}

export interface Guild {
  readonly id: string;
  readonly name: string;
  readonly ownerId: string;
  readonly tier: 0 | 1 | 2 | 3;
  readonly roles: Map<string, APIRole>;
  /** Names by id. */
  readonly emojis: Map<string, string>;
  readonly members: Map<string, Member>;
}

interface Thread {
  readonly ownerId: string;
  readonly isPrivate: boolean;
  archived: boolean;
  locked: boolean;
  autoArchiveMinutes: number;
  archivedAt: string;
  readonly createdAt: string;
  readonly members: Set<string>;
  readonly tags: readonly string[];
  totalSent: number;
}

interface Reaction {
  readonly emoji: APIEmoji;
  readonly users: Set<string>;
}

export interface Channel {
  readonly id: string;
  readonly type: ChannelType;
  name: string;
  readonly topic: string | null;
  /** Absent for direct channels. */
  readonly guild: Guild | undefined;
  /** The category, or the channel of a thread. */
  readonly parentId: string | null;
  /** The other side of a direct channel. */
  readonly recipient: APIUser | undefined;
  readonly bot: Bot | undefined;
  readonly thread: Thread | undefined;
  /** Tags that a forum offers. */
  readonly tags: readonly { readonly id: string; readonly name: string }[];
  readonly position: number;
  readonly messages: Map<string, APIMessage>;
  /** By message id, then by emoji. */
  readonly reactions: Map<string, Map<string, Reaction>>;
  readonly pinned: Set<string>;
  /** The only viewer of an ephemeral message, by message id. */
  readonly ephemeral: Map<string, string>;
  readonly denied: Set<Right>;
  /** The time of each user's last typing, by user id. */
  readonly typing: Map<string, number>;
  lastMessageId: string | null;
  lastPinAt: string | null;
}

export interface StoredFile extends UploadedFile {
  readonly path: string;
}

export interface Interaction {
  readonly id: string;
  readonly token: string;
  readonly type: InteractionType;
  readonly bot: Bot;
  readonly user: APIUser;
  readonly channel: Channel;
  readonly atMs: number;
  /** The message whose component was used. */
  readonly messageId: string | undefined;
  response: APIInteractionResponse | null;
  /** Set by a deferral (callback types 5 and 6) until the original is edited. */
  isDeferred: boolean;
  /** The message that `@original` means. */
  originalId: string | undefined;
}

export function isThread(type: ChannelType): boolean {
  return (
    type === ChannelType.PublicThread ||
    type === ChannelType.PrivateThread ||
    type === ChannelType.AnnouncementThread
  );
}

export function isForum(type: ChannelType): boolean {
  return type === ChannelType.GuildForum || type === ChannelType.GuildMedia;
}
