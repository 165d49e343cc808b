// Keeps the state of the fake Discord: bots, people, guilds, channels, messages. It stores messages as the
// API shows them; payloads.ts adds what depends on the viewer (reactions, content without the intent). The
// gateway gets each change as a notice.
import type { Clock } from "@parley/protocol";
import {
  type APIAttachment,
  type APIMessage,
  type APIUser,
  ChannelType,
  type MessageFlags,
  MessageType,
} from "discord-api-types/v10";
import type { UploadedFile } from "../telegram/body.ts";
import type { Bot, Channel, Guild, Interaction, StoredFile } from "./model.ts";
import { snowflakes } from "./snowflake.ts";

/**
 * Something that happened, for the gateway: sessions that want one of the intents get the event. No intents:
 * everybody.
 */
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
  /** The address of the file server. */
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
      return {
        id,
        filename: file.name,
        size: file.bytes.length,
        url: signed,
        proxy_url: signed,
        content_type: file.mediaType,
        ...fields,
      };
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
      if (channel === undefined)
        throw new Error(`there is no channel ${id}: make it with channel(), or let a person write first`);
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

/**
 * The bots that something in this channel concerns: one for a direct channel, all in a guild that may look.
 */
export function listenersOf(state: World, channel: Channel): readonly Bot[] {
  if (channel.bot !== undefined) return [channel.bot];
  return [...state.bots.values()].filter((bot) => maySee(state, channel, bot));
}

/** True when a bot of the guild may look into a channel; private threads are for those who joined. */
export function maySee(state: World, channel: Channel, bot: Bot): boolean {
  if (channel.guild?.members.has(bot.user.id) !== true) return false;
  if (channel.denied.has("view") || parentOf(state, channel)?.denied.has("view") === true) return false;
  return channel.thread?.isPrivate !== true || channel.thread.members.has(bot.user.id);
}

export function parentOf(state: World, channel: Channel): Channel | undefined {
  return channel.parentId === null ? undefined : state.channels.get(channel.parentId);
}
