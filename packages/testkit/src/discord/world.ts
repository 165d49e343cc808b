// The state of the fake Discord: bots, people, guilds, channels, messages. Messages are kept as the API shows them; what depends
// on who looks (reactions, content without the intent) is added by payloads.ts. Changes are told to the gateway as notices.
import type { Clock } from "@parley/protocol";
import {
  type APIApplicationCommand,
  type APIAttachment,
  type APIEmoji,
  type APIMessage,
  type APIRole,
  type APIUser,
  ChannelType,
  type MessageFlags,
  MessageType,
} from "discord-api-types/v10";
import type { UploadedFile } from "../telegram/body.ts";
import type { Interaction } from "./interaction.ts";
import { snowflakes } from "./snowflake.ts";

export type Privileged = "messageContent" | "guildMembers" | "presence";
/** What a test may take from the bot in a channel. */
export type Right = "view" | "send" | "history" | "react" | "attach" | "threads" | "manage";

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
  readonly nonces: Map<string, { readonly channel: Channel; readonly message: APIMessage; readonly atMs: number }>;
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
  readonly members: Map<string, Member>;
}

export interface Thread {
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

export interface Reaction {
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
  /** Who alone sees a message, by message id. */
  readonly ephemeral: Map<string, string>;
  readonly denied: Set<Right>;
  /** When who last typed, by user id. */
  readonly typing: Map<string, number>;
  lastMessageId: string | null;
  lastPinAt: string | null;
}

export interface StoredFile extends UploadedFile {
  readonly path: string;
}

/** Something that happened, for the gateway: sessions that want one of the intents get the event. No intents: everybody. */
export interface Notice {
  readonly event: string;
  readonly to: readonly Bot[];
  readonly intents: number;
  readonly body: (bot: Bot, intents: number) => unknown;
}

export interface World {
  readonly clock: Clock;
  readonly bots: Map<string, Bot>;
  readonly users: Map<string, APIUser>;
  readonly guilds: Map<string, Guild>;
  readonly channels: Map<string, Channel>;
  readonly files: Map<string, StoredFile>;
  readonly interactions: Map<string, Interaction>;
  /** People who take no direct messages, by user id. */
  readonly closedDms: Set<string>;
  /** Where files can be fetched. */
  origin: string;
  tell(notice: Notice): void;
  onNotice(listener: (notice: Notice) => void): void;
  nextId(): string;
  nowIso(): string;
  addChannel(fields: Partial<Channel> & Pick<Channel, "type" | "name">): Channel;
  dmWith(bot: Bot, user: APIUser): Channel;
  addFile(channel: Channel, file: UploadedFile, fields?: Partial<APIAttachment>): APIAttachment;
  /** Appends to the channel; `fields` are those that differ from an empty text message. */
  addMessage(channel: Channel, fields: Partial<APIMessage> & Pick<APIMessage, "author">): APIMessage;
  channel(id: string): Channel;
  guild(id: string): Guild;
}

export function world(clock: Clock): World {
  const nextId = snowflakes(clock);
  const listeners: ((notice: Notice) => void)[] = [];
  const nowIso = (): string => new Date(clock.now()).toISOString().replace("Z", "000+00:00");
  const state: World = {
    clock,
    bots: new Map(),
    users: new Map(),
    guilds: new Map(),
    channels: new Map(),
    files: new Map(),
    interactions: new Map(),
    closedDms: new Set(),
    origin: "",
    tell: (notice) => {
      for (const listener of listeners) listener(notice);
    },
    onNotice: (listener) => void listeners.push(listener),
    nextId,
    nowIso,
    addChannel(fields) {
      const channel: Channel = {
        id: nextId(),
        topic: null,
        guild: undefined,
        parentId: null,
        recipient: undefined,
        bot: undefined,
        thread: undefined,
        tags: [],
        position: state.channels.size,
        messages: new Map(),
        reactions: new Map(),
        pinned: new Set(),
        ephemeral: new Map(),
        denied: new Set(),
        typing: new Map(),
        lastMessageId: null,
        lastPinAt: null,
        ...fields,
      };
      state.channels.set(channel.id, channel);
      return channel;
    },
    dmWith(bot, user) {
      const known = bot.dms.get(user.id);
      if (known !== undefined) return known;
      const channel = state.addChannel({ type: ChannelType.DM, name: user.username, recipient: user, bot });
      bot.dms.set(user.id, channel);
      return channel;
    },
    addFile(channel, file, fields = {}) {
      const id = nextId();
      const path = `/attachments/${channel.id}/${id}/${encodeURIComponent(file.name)}`;
      state.files.set(path, { ...file, path });
      const url = `${state.origin}${path}`;
      // The real CDN signs its links; ex, is and hm are hexadecimal times and a hash.
      const signed = `${url}?ex=${Math.floor(clock.now() / 1000 + 86_400).toString(16)}&is=${Math.floor(clock.now() / 1000).toString(16)}&hm=${id}&`;
      return { id, filename: file.name, size: file.bytes.length, url: signed, proxy_url: signed, content_type: file.mediaType, ...fields };
    },
    addMessage(channel, fields) {
      const message: APIMessage = {
        id: nextId(),
        channel_id: channel.id,
        content: "",
        timestamp: nowIso(),
        edited_timestamp: null,
        tts: false,
        mention_everyone: false,
        mentions: [],
        mention_roles: [],
        attachments: [],
        embeds: [],
        components: [],
        flags: 0 as MessageFlags,
        pinned: false,
        type: MessageType.Default,
        ...fields,
      };
      channel.messages.set(message.id, message);
      channel.lastMessageId = message.id;
      if (channel.thread !== undefined) channel.thread.totalSent++;
      return message;
    },
    channel(id) {
      const channel = state.channels.get(id);
      if (channel === undefined) throw new Error(`there is no channel ${id}: make it with channel(), or let a person write first`);
      return channel;
    },
    guild(id) {
      const guild = state.guilds.get(id);
      if (guild === undefined) throw new Error(`there is no guild ${id}: make it with guild()`);
      return guild;
    },
  };
  return state;
}

export function isThread(type: ChannelType): boolean {
  return type === ChannelType.PublicThread || type === ChannelType.PrivateThread || type === ChannelType.AnnouncementThread;
}

export function isForum(type: ChannelType): boolean {
  return type === ChannelType.GuildForum || type === ChannelType.GuildMedia;
}

/** The bots that something in this channel concerns: one for a direct channel, all in a guild that may look. */
export function listenersOf(state: World, channel: Channel): readonly Bot[] {
  if (channel.bot !== undefined) return [channel.bot];
  if (channel.denied.has("view") || parentOf(state, channel)?.denied.has("view") === true) return [];
  return [...state.bots.values()].filter((bot) => channel.guild?.members.has(bot.user.id) === true);
}

export function parentOf(state: World, channel: Channel): Channel | undefined {
  return channel.parentId === null ? undefined : state.channels.get(channel.parentId);
}
