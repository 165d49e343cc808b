// Finds the channel, message or guild that a path names if the bot may touch it, or gives the refusal that
// Discord would give.
import { type APIMessage, ChannelType } from "discord-api-types/v10";
import { type Bot, type Channel, type Guild, isForum, type Right } from "../model.ts";
import { maySee, parentOf, type World } from "../world.ts";
import { refuse } from "./refusal.ts";

interface Asked {
  readonly state: World;
  readonly bot: Bot;
  readonly params: { readonly [name: string]: string };
}

/** The channel of the path, in which the bot has the rights named. Throws DiscordRefusal. */
export function reachChannel({ state, bot, params }: Asked, ...rights: readonly Right[]): Channel {
  const channel = state.channels.get(params["channel"] ?? "");
  if (channel === undefined || (channel.bot !== undefined && channel.bot !== bot))
    throw refuse("unknownChannel");
  requireRights(state, channel, bot, rights);
  return channel;
}

function requireRights(state: World, channel: Channel, bot: Bot, rights: readonly Right[]): void {
  if (channel.guild !== undefined && !maySee(state, channel, bot)) throw refuse("missingAccess");
  const parent = channel.thread === undefined ? undefined : parentOf(state, channel);
  for (const right of rights) {
    if (channel.denied.has(right) || parent?.denied.has(right) === true) throw refuse("missingPermissions");
  }
}

export function reachMessage(asked: Asked, channel: Channel): APIMessage {
  const message = channel.messages.get(asked.params["message"] ?? "");
  // An ephemeral message is out of reach but for its interaction's token.
  if (message === undefined || channel.ephemeral.has(message.id)) throw refuse("unknownMessage");
  return message;
}

export function reachGuild({ state, bot, params }: Asked): Guild {
  const guild = state.guilds.get(params["guild"] ?? "");
  if (guild === undefined) throw refuse("unknownGuild");
  if (!guild.members.has(bot.user.id)) throw refuse("missingAccess");
  return guild;
}

/** True when it takes messages: a forum itself and a category do not. */
export function takesMessages(channel: Channel): boolean {
  return !isForum(channel.type) && channel.type !== ChannelType.GuildCategory;
}

/** Writing wakes an archived thread; one that is locked stays closed. */
export function wakeThread({ thread }: Channel): boolean {
  if (thread === undefined) return false;
  if (thread.locked) throw refuse("locked");
  const wasAsleep = thread.archived;
  thread.archived = false;
  return wasAsleep;
}

export function requireAwake({ thread }: Channel): void {
  if (thread?.archived === true) throw refuse("archived");
}
