// People of the fake Discord: what they write, edit, press and open becomes messages in a channel and events
// for the bots that see it.
import {
  type APIEmbed,
  type APIMessage,
  type APIUser,
  GatewayDispatchEvents as Event,
  MessageFlags,
  MessageReferenceType,
  MessageType,
} from "discord-api-types/v10";
import type { UploadedFile } from "../telegram/body.ts";
import { tellChannel, tellMessage, tellTyping } from "./events.ts";
import { type OptionValues, runCommand, submitModal, typeArgument, useComponent } from "./interact.ts";
import { mentionsIn } from "./mentions.ts";
import { removeMessages } from "./rest/messages.ts";
import { addReaction, parsedEmoji, removeReaction } from "./rest/reactions.ts";
import { openPost, openThread } from "./rest/threads.ts";
import type { Bot, Channel } from "./model.ts";
import type { World } from "./world.ts";

export interface PersonOptions {
  readonly id: string;
  /** The shown name. */
  readonly name?: string;
  readonly username?: string;
  readonly isBot?: boolean;
  /** Writes through a webhook: no member, a webhook id. */
  readonly isWebhook?: boolean;
}

interface DiscordPlace {
  /** Channel or thread; absent for the direct channel with the bot. */
  readonly channel?: string;
}

export interface DiscordSayOptions extends DiscordPlace {
  readonly replyTo?: string;
  /** True when a reply notifies the author, the app's default. */
  readonly pingsReplied?: boolean;
  readonly files?: readonly UploadedFile[];
  /** The file size that the platform states, where it differs. */
  readonly statedBytes?: number;
  /** Makes the one file a voice message, as the app sends them: with its length and its waveform. */
  readonly voice?: { readonly seconds: number; readonly waveform: Uint8Array };
  readonly stickers?: readonly string[];
  /** Any other fields of the API's message. */
  readonly fields?: Partial<APIMessage>;
}

export interface DiscordPerson {
  readonly user: APIUser;
  /** The direct channel with the bot, opened when need be. */
  dm(): string;
  says(text: string, options?: DiscordSayOptions): APIMessage;
  edits(messageId: string, text: string, place?: DiscordPlace): APIMessage;
  deletes(messageId: string, place?: DiscordPlace): void;
  /** Adds previews of links, as Discord does by itself: MESSAGE_UPDATE without an edit. */
  unfurls(messageId: string, embeds: readonly APIEmbed[], place?: DiscordPlace): void;
  reacts(messageId: string, emoji: string, place?: DiscordPlace): void;
  unreacts(messageId: string, emoji: string, place?: DiscordPlace): void;
  types(place?: DiscordPlace): void;
  /** Opens a thread, on a message or standing alone; returns its id. */
  opensThread(
    title: string,
    options: { readonly channel: string; readonly message?: string; readonly isPrivate?: boolean },
  ): string;
  /** Writes a post into a forum; thread and message have one id. */
  posts(
    title: string,
    text: string,
    options: {
      readonly channel: string;
      readonly tags?: readonly string[];
      readonly files?: readonly UploadedFile[];
    },
  ): APIMessage;
  /** Joins a guild, with roles. Whoever writes in a guild has joined it. */
  joins(guild: string, options?: { readonly roles?: readonly string[]; readonly nick?: string }): void;
  /** Runs a slash command; returns the interaction's id. So do the next three. */
  runs(command: string, options?: DiscordPlace & { readonly values?: OptionValues }): string;
  /** Types behind a command that offers arguments; returns the interaction's id. */
  typesBehind(command: string, typed: string, place?: DiscordPlace): string;
  presses(messageId: string, customId: string, place?: DiscordPlace): string;
  selects(messageId: string, customId: string, values: readonly string[], place?: DiscordPlace): string;
  /** Sends the modal that an interaction opened. */
  submits(interactionId: string, fields: { readonly [customId: string]: string }): string;
  /** Takes no direct messages any more: sends answer 50007. */
  closesDms(): void;
  opensDms(): void;
}

export function person(state: World, options: PersonOptions, bot: Bot): DiscordPerson {
  const user = userOf(state, options);
  const { isWebhook = false } = options;
  const at = ({ channel: id }: DiscordPlace): Channel => {
    if (id === undefined) return state.dmWith(bot, user);
    const channel = state.channel(id);
    if (channel.guild !== undefined && !isWebhook && !channel.guild.members.has(user.id))
      join(channel.guild.id, [], null);
    return channel;
  };
  const join = (guildId: string, roles: readonly string[], nick: string | null): void => {
    const { members } = state.guild(guildId);
    members.set(user.id, { user, nick, roles, joinedAt: members.get(user.id)?.joinedAt ?? state.nowIso() });
  };
  const messageAt = (channel: Channel, id: string): APIMessage => {
    const message = channel.messages.get(id);
    if (message === undefined) throw new Error(`there is no message ${id} in channel ${channel.id}`);
    return message;
  };
  const emojiOf = (text: string) => {
    const emoji = parsedEmoji(text);
    if (emoji === null) throw new Error(`"${text}" is no emoji: write one of Unicode's, or name:id`);
    return emoji;
  };
  const interactionOf = (id: string) => {
    const interaction = state.interactions.get(id);
    if (interaction === undefined) throw new Error(`there is no interaction ${id}`);
    return interaction;
  };
  /** The fields of a message with this text. */
  const written = (channel: Channel, text: string, say: DiscordSayOptions): Partial<APIMessage> => {
    const replied = say.replyTo === undefined ? undefined : messageAt(channel, say.replyTo);
    const guild = channel.guild === undefined ? {} : { guild_id: channel.guild.id };
    const facts = {
      ...(say.statedBytes === undefined ? {} : { size: say.statedBytes }),
      ...(say.voice === undefined
        ? {}
        : {
            duration_secs: say.voice.seconds,
            waveform: Buffer.from(say.voice.waveform).toString("base64"),
          }),
    };
    return {
      content: text,
      ...mentionsIn(
        state,
        channel,
        text,
        undefined,
        say.pingsReplied === false ? undefined : replied?.author,
      ),
      attachments: (say.files ?? []).map((file) => state.addFile(channel, file, facts)),
      ...(say.voice === undefined ? {} : { flags: MessageFlags.IsVoiceMessage }),
      ...(say.stickers === undefined
        ? {}
        : { sticker_items: say.stickers.map((name) => ({ id: state.nextId(), name, format_type: 1 })) }),
      ...(replied === undefined
        ? {}
        : {
            type: MessageType.Reply,
            message_reference: {
              type: MessageReferenceType.Default,
              message_id: replied.id,
              channel_id: channel.id,
              ...guild,
            },
            referenced_message: replied,
          }),
      ...(isWebhook ? { webhook_id: user.id } : {}),
      ...say.fields,
    };
  };
  return {
    user,
    dm: () => state.dmWith(bot, user).id,
    says(text, say = {}) {
      const channel = at(say);
      if (channel.thread?.archived === true) {
        channel.thread.archived = false;
        tellChannel(state, channel, "Update");
      }
      const message = state.addMessage(channel, { ...written(channel, text, say), author: user });
      channel.typing.delete(user.id);
      // Writing in a thread joins it, and so does being mentioned there.
      for (const { id } of [user, ...message.mentions]) channel.thread?.members.add(id);
      tellMessage(state, channel, message);
      return message;
    },
    edits(messageId, text, place = {}) {
      const channel = at(place);
      const mentions = mentionsIn(state, channel, text);
      const edited: APIMessage = {
        ...messageAt(channel, messageId),
        content: text,
        ...mentions,
        edited_timestamp: state.nowIso(),
      };
      channel.messages.set(messageId, edited);
      tellMessage(state, channel, edited, Event.MessageUpdate);
      return edited;
    },
    deletes: (messageId, place = {}) => removeMessages({ state }, at(place), [messageId]),
    unfurls(messageId, embeds, place = {}) {
      const channel = at(place);
      const shown = { ...messageAt(channel, messageId), embeds: [...embeds] };
      channel.messages.set(messageId, shown);
      tellMessage(state, channel, shown, Event.MessageUpdate);
    },
    reacts(messageId, emoji, place = {}) {
      const channel = at(place);
      addReaction(state, channel, messageAt(channel, messageId).id, user.id, emojiOf(emoji));
    },
    unreacts: (messageId, emoji, place = {}) =>
      removeReaction(state, at(place), messageId, user.id, emojiOf(emoji)),
    types: (place = {}) => tellTyping(state, at(place), user.id),
    opensThread(title, { channel: id, message, isPrivate = false }) {
      const channel = at({ channel: id });
      const hungOn = message === undefined ? {} : { message: messageAt(channel, message) };
      return openThread(state, channel, user, { title, isPrivate, ...hungOn }).id;
    },
    posts(title, text, { channel: id, tags = [], files = [] }) {
      const forum = at({ channel: id });
      return openPost(state, forum, user, { title, tags }, written(forum, text, { files })).message;
    },
    joins: (guild, { roles = [], nick } = {}) => join(guild, roles, nick ?? null),
    runs: (command, { values = {}, ...place } = {}) =>
      runCommand(state, bot, user, at(place), command, values).id,
    typesBehind: (command, typed, place = {}) => typeArgument(state, bot, user, at(place), command, typed).id,
    presses: (messageId, customId, place = {}) =>
      useComponent(state, bot, user, at(place), messageId, customId).id,
    selects: (messageId, customId, values, place = {}) =>
      useComponent(state, bot, user, at(place), messageId, customId, values).id,
    submits: (interactionId, fields) => submitModal(state, user, interactionOf(interactionId), fields).id,
    closesDms: () => void state.closedDms.add(user.id),
    opensDms: () => void state.closedDms.delete(user.id),
  };
}

function userOf(
  state: World,
  { id, name = `User${id}`, username, isBot = false, isWebhook = false }: PersonOptions,
): APIUser {
  if (!/^[1-9]\d*$/.test(id)) throw new Error(`"${id}" is no user id: write digits`);
  const known = state.users.get(id);
  if (known !== undefined) return known;
  const user: APIUser = {
    id,
    username: username ?? name.toLowerCase().replaceAll(/[^a-z0-9_.]/g, "_"),
    discriminator: "0",
    global_name: name,
    avatar: null,
    ...(isBot || isWebhook ? { bot: true } : {}),
  };
  state.users.set(id, user);
  return user;
}
