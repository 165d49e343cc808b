// Tells bots what happens in channels they may see: the world's changes become gateway events here, and
// nowhere else.
import {
  type APIEmoji,
  type APIMessage,
  GatewayDispatchEvents as Event,
  GatewayIntentBits as Intent,
} from "discord-api-types/v10";
import { bareMember, channelJson, memberJson, messageEvent } from "./payloads.ts";
import type { Channel } from "./model.ts";
import { listenersOf, type World } from "./world.ts";

type Body = { readonly [field: string]: unknown };

const either = (channel: Channel, inGuild: number, direct: number): number =>
  channel.guild === undefined ? direct : inGuild;
const guildId = (channel: Channel): Body =>
  channel.guild === undefined ? {} : { guild_id: channel.guild.id };

export function tellMessage(
  state: World,
  channel: Channel,
  message: APIMessage,
  event = Event.MessageCreate,
): void {
  if (channel.ephemeral.has(message.id)) return;
  state.tell({
    event,
    to: listenersOf(state, channel),
    intents: either(channel, Intent.GuildMessages, Intent.DirectMessages),
    body: messageEvent(state, channel, message),
  });
}

export function tellDeleted(state: World, channel: Channel, ids: readonly string[]): void {
  const [only] = ids;
  state.tell({
    event: ids.length === 1 ? Event.MessageDelete : Event.MessageDeleteBulk,
    to: listenersOf(state, channel),
    intents: either(channel, Intent.GuildMessages, Intent.DirectMessages),
    body: () => ({
      ...(ids.length === 1 ? { id: only } : { ids }),
      channel_id: channel.id,
      ...guildId(channel),
    }),
  });
}

export function tellReaction(
  state: World,
  channel: Channel,
  messageId: string,
  userId: string,
  emoji: APIEmoji,
  isAdded: boolean,
): void {
  const member = channel.guild?.members.get(userId);
  const author = channel.messages.get(messageId)?.author.id;
  const added = {
    ...(member === undefined ? {} : { member: memberJson(member) }),
    message_author_id: author,
  };
  state.tell({
    event: isAdded ? Event.MessageReactionAdd : Event.MessageReactionRemove,
    to: listenersOf(state, channel),
    intents: either(channel, Intent.GuildMessageReactions, Intent.DirectMessageReactions),
    body: () => ({
      user_id: userId,
      channel_id: channel.id,
      message_id: messageId,
      ...guildId(channel),
      emoji,
      burst: false,
      type: 0,
      ...(isAdded ? added : {}),
    }),
  });
}

export function tellReactionsGone(state: World, channel: Channel, messageId: string, emoji?: APIEmoji): void {
  state.tell({
    event: emoji === undefined ? Event.MessageReactionRemoveAll : Event.MessageReactionRemoveEmoji,
    to: listenersOf(state, channel),
    intents: either(channel, Intent.GuildMessageReactions, Intent.DirectMessageReactions),
    body: () => ({
      channel_id: channel.id,
      message_id: messageId,
      ...guildId(channel),
      ...(emoji === undefined ? {} : { emoji }),
    }),
  });
}

/** Channels and threads: made, changed, gone. */
export function tellChannel(state: World, channel: Channel, what: "Create" | "Update" | "Delete"): void {
  if (channel.guild === undefined) return;
  const isGone = what === "Delete";
  const event = channel.thread === undefined ? Event[`Channel${what}`] : Event[`Thread${what}`];
  state.tell({
    event,
    to: listenersOf(state, channel),
    intents: Intent.Guilds,
    body: (bot) =>
      isGone && channel.thread !== undefined
        ? { id: channel.id, guild_id: channel.guild?.id, parent_id: channel.parentId, type: channel.type }
        : {
            ...channelJson(channel, bot),
            ...(what === "Create" && channel.thread !== undefined ? { newly_created: true } : {}),
          },
  });
}

export function tellPins(state: World, channel: Channel): void {
  state.tell({
    event: Event.ChannelPinsUpdate,
    to: listenersOf(state, channel),
    intents: either(channel, Intent.Guilds, Intent.DirectMessages),
    body: () => ({ channel_id: channel.id, ...guildId(channel), last_pin_timestamp: channel.lastPinAt }),
  });
}

export function tellTyping(state: World, channel: Channel, userId: string): void {
  channel.typing.set(userId, state.clock.now());
  const member = channel.guild?.members.get(userId);
  state.tell({
    event: Event.TypingStart,
    to: listenersOf(state, channel),
    intents: either(channel, Intent.GuildMessageTyping, Intent.DirectMessageTyping),
    body: () => ({
      channel_id: channel.id,
      user_id: userId,
      timestamp: Math.floor(state.clock.now() / 1000),
      ...guildId(channel),
      ...(member === undefined ? {} : { member: { user: member.user, ...bareMember(member) } }),
    }),
  });
}
