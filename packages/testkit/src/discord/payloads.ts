// Builds the JSON that the fake sends to clients: channels, messages, members and guilds as discord-api-types
// describes them, seen by one bot.
import {
  type APIChannel,
  type APIGuildMember,
  type APIMessage,
  type APIReaction,
  ApplicationFlags,
  ChannelType,
  type ChannelFlags,
  GatewayIntentBits,
  type GatewayGuildCreateDispatchData,
  type GatewayMessageCreateDispatchData,
  type GuildMemberFlags,
} from "discord-api-types/v10";
import { type Bot, type Channel, type Guild, isForum, isThread, type Member } from "./model.ts";
import { maySee, type World } from "./world.ts";

export function memberJson(member: Member): APIGuildMember {
  return { user: member.user, ...bareMember(member) };
}

/** A member inside a message or interaction, where the user stands elsewhere. */
export function bareMember(member: Member): Omit<APIGuildMember, "user"> {
  return {
    nick: member.nick,
    avatar: null,
    banner: null,
    roles: [...member.roles],
    joined_at: member.joinedAt,
    premium_since: null,
    deaf: false,
    mute: false,
    flags: 0 as GuildMemberFlags,
    pending: false,
    communication_disabled_until: null,
  };
}

export function channelJson(channel: Channel, bot?: Bot): APIChannel {
  const { id, type, name, thread, guild } = channel;
  if (type === ChannelType.DM) {
    const recipients = channel.recipient === undefined ? [] : [channel.recipient];
    return {
      id,
      type,
      flags: 0,
      last_message_id: channel.lastMessageId,
      recipients,
    } as unknown as APIChannel;
  }
  const common = {
    id,
    type,
    name,
    guild_id: guild?.id,
    parent_id: channel.parentId,
    last_message_id: channel.lastMessageId,
  };
  if (thread !== undefined) {
    return {
      ...common,
      flags: 0,
      owner_id: thread.ownerId,
      rate_limit_per_user: 0,
      last_pin_timestamp: channel.lastPinAt,
      message_count: channel.messages.size,
      member_count: thread.members.size,
      total_message_sent: thread.totalSent,
      ...(thread.tags.length === 0 ? {} : { applied_tags: thread.tags }),
      thread_metadata: {
        archived: thread.archived,
        archive_timestamp: thread.archivedAt,
        auto_archive_duration: thread.autoArchiveMinutes,
        locked: thread.locked,
        create_timestamp: thread.createdAt,
        ...(thread.isPrivate ? { invitable: true } : {}),
      },
      ...(bot !== undefined && thread.members.has(bot.user.id)
        ? { member: { id, user_id: bot.user.id, join_timestamp: thread.createdAt, flags: 1 } }
        : {}),
    } as unknown as APIChannel;
  }
  return {
    ...common,
    topic: channel.topic,
    nsfw: false,
    position: channel.position,
    permission_overwrites: [],
    rate_limit_per_user: 0,
    last_pin_timestamp: channel.lastPinAt,
    flags: 0 as ChannelFlags,
    ...(isForum(type)
      ? {
          available_tags: channel.tags.map((tag) => ({
            ...tag,
            moderated: false,
            emoji_id: null,
            emoji_name: null,
          })),
          default_reaction_emoji: null,
          default_sort_order: null,
          default_forum_layout: 0,
          template: "",
        }
      : {}),
  } as unknown as APIChannel;
}

/** The message as this bot may see it over REST. */
export function messageJson(
  state: World,
  channel: Channel,
  message: APIMessage,
  bot: Bot,
  mayRead = bot.privileged.has("messageContent"),
): APIMessage {
  const reactions = reactionsOf(channel, message.id, bot);
  const thread = state.channels.get(message.id);
  const shown: APIMessage = {
    ...message,
    pinned: channel.pinned.has(message.id),
    ...(reactions.length === 0 ? {} : { reactions }),
    ...(thread?.thread === undefined || thread.id === channel.id ? {} : { thread: channelJson(thread) }),
    ...(message.referenced_message === undefined
      ? {}
      : { referenced_message: referenced(state, message, bot, mayRead) }),
  };
  return mayRead || readsAnyway(channel, message, bot)
    ? shown
    : { ...shown, content: "", attachments: [], embeds: [], components: [] };
}

function referenced(state: World, message: APIMessage, bot: Bot, mayRead: boolean): APIMessage | null {
  const channel = state.channels.get(message.message_reference?.channel_id ?? message.channel_id);
  const found = channel?.messages.get(message.message_reference?.message_id ?? "");
  if (channel === undefined || found === undefined) return null;
  // One level only: a reply inside a reply comes without what it answers.
  const { referenced_message: _deeper, ...rest } = found;
  return messageJson(state, channel, rest, bot, mayRead);
}

/**
 * Message content reaches a bot without the intent in direct channels, when it is mentioned, and for its own
 * messages.
 */
function readsAnyway(channel: Channel, message: APIMessage, bot: Bot): boolean {
  return (
    channel.guild === undefined ||
    message.author.id === bot.user.id ||
    message.mentions.some((user) => user.id === bot.user.id)
  );
}

function reactionsOf(channel: Channel, messageId: string, bot: Bot): APIReaction[] {
  return [...(channel.reactions.get(messageId)?.values() ?? [])]
    .filter((reaction) => reaction.users.size > 0)
    .map(({ emoji, users }) => ({
      emoji,
      count: users.size,
      count_details: { burst: 0, normal: users.size },
      me: users.has(bot.user.id),
      me_burst: false,
      burst_colors: [],
    }));
}

/** MESSAGE_CREATE and MESSAGE_UPDATE: the message with its guild and the author's membership. */
export function messageEvent(state: World, channel: Channel, message: APIMessage) {
  return (bot: Bot, intents: number): GatewayMessageCreateDispatchData => {
    const mayRead = (intents & GatewayIntentBits.MessageContent) !== 0;
    const body = {
      ...messageJson(state, channel, message, bot, mayRead),
      channel_type: channel.type,
    } as GatewayMessageCreateDispatchData;
    const { guild } = channel;
    if (guild === undefined) return body;
    const author = guild.members.get(message.author.id);
    const mentions = body.mentions.map((user) => {
      const member = guild.members.get(user.id);
      return member === undefined ? user : { ...user, member: bareMember(member) };
    });
    const member =
      author === undefined || message.webhook_id !== undefined ? {} : { member: bareMember(author) };
    return { ...body, mentions, guild_id: guild.id, ...member } as GatewayMessageCreateDispatchData;
  };
}

export function guildEvent(state: World, guild: Guild, bot: Bot): GatewayGuildCreateDispatchData {
  const channels = [...state.channels.values()].filter(
    (channel) => channel.guild === guild && maySee(state, channel, bot),
  );
  const me = guild.members.get(bot.user.id);
  return {
    ...guildJson(guild),
    joined_at: me?.joinedAt ?? state.nowIso(),
    large: false,
    unavailable: false,
    member_count: guild.members.size,
    voice_states: [],
    members: me === undefined ? [] : [memberJson(me)],
    channels: channels
      .filter((channel) => !isThread(channel.type))
      .map((channel) => channelJson(channel, bot)),
    threads: channels
      .filter((channel) => channel.thread?.archived === false)
      .map((channel) => channelJson(channel, bot)),
    presences: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  } as unknown as GatewayGuildCreateDispatchData;
}

export function emojisJson({ emojis }: Guild): readonly unknown[] {
  return [...emojis].map(([id, name]) => ({
    id,
    name,
    roles: [],
    require_colons: true,
    managed: false,
    animated: false,
    available: true,
  }));
}

export function guildJson(guild: Guild) {
  return {
    id: guild.id,
    name: guild.name,
    icon: null,
    splash: null,
    discovery_splash: null,
    banner: null,
    owner_id: guild.ownerId,
    afk_channel_id: null,
    afk_timeout: 300,
    verification_level: 0,
    default_message_notifications: 0,
    explicit_content_filter: 0,
    roles: [...guild.roles.values()],
    emojis: emojisJson(guild),
    stickers: [],
    features: [],
    mfa_level: 0,
    application_id: null,
    system_channel_id: null,
    system_channel_flags: 0,
    rules_channel_id: null,
    vanity_url_code: null,
    description: null,
    premium_tier: guild.tier,
    preferred_locale: "en-US",
    public_updates_channel_id: null,
    nsfw_level: 0,
    premium_progress_bar_enabled: false,
    safety_alerts_channel_id: null,
  };
}

/** The switches of the portal as an application shows them; "limited" is what bots in few guilds have. */
export function applicationFlags({ privileged }: Bot): number {
  return (
    (privileged.has("messageContent") ? ApplicationFlags.GatewayMessageContentLimited : 0) |
    (privileged.has("guildMembers") ? ApplicationFlags.GatewayGuildMembersLimited : 0) |
    (privileged.has("presence") ? ApplicationFlags.GatewayPresenceLimited : 0)
  );
}
