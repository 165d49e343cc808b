// People of the fake Telegram: what they say, edit, press and send becomes messages in a chat and updates for
// the bots that are in it.
import type { UploadedFile } from "./body.ts";
import { captionOf } from "./methods/media.ts";
import { detectedEntities, type Entity } from "./text.ts";
import { type Bot, type Chat, chatJson, type Message, type User, type World } from "./world.ts";

interface Place {
  /** A group's id; absent for the private chat with the bot. */
  readonly chat?: number;
  /** Topic of a forum. */
  readonly thread?: number;
}

interface SayOptions extends Place {
  readonly replyTo?: number;
  /** The part of the quoted message that was selected. */
  readonly quote?: string;
  /** Instead of the entities that Telegram would find by itself. */
  readonly entities?: readonly Entity[];
  readonly forwardedFrom?: string;
  /** Any other fields of the Bot API's Message. */
  readonly fields?: { readonly [field: string]: unknown };
}

export interface MediaOptions extends SayOptions {
  readonly caption?: string;
  readonly file?: UploadedFile;
  /** The size that the platform states, where it differs. */
  readonly statedBytes?: number;
}

export interface Person {
  readonly user: User;
  says(text: string, options?: SayOptions): Message;
  edits(messageId: number, text: string, place?: Place): Message;
  /**
   * Presses the button with this callback data under a message of the bot. Returns the callback query's id.
   */
  presses(messageId: number, value: string, place?: Place): string;
  /** Sets this person's reaction; null takes it back. */
  reacts(messageId: number, emoji: string | null, place?: Place): void;
  sendsPhoto(options?: MediaOptions): Message;
  sendsDocument(options?: MediaOptions): Message;
  sendsVoice(options?: MediaOptions): Message;
  /** Any message kind by its field: `sends("location", { latitude: 1, longitude: 2 })`. */
  sends(field: string, value: unknown, options?: SayOptions): Message;
  /** One update for each photo, with one media group id; the caption stands on the first. */
  sendsAlbum(count: number, options?: MediaOptions): readonly Message[];
  /** Blocks the bot: sends to this person's private chat answer 403 from now on. */
  blocks(): void;
  unblocks(): void;
}

const tinyFile: UploadedFile = {
  name: "note.txt",
  mediaType: "text/plain",
  bytes: new TextEncoder().encode("hello file"),
};

export function person(state: World, user: User, bot: Bot): Person {
  const chatAt = ({ chat }: Place): Chat => {
    if (chat === undefined)
      return bot.privateChats.get(user.id) ?? state.addChat(bot, user.id, "private", user.first_name);
    const group = state.groups.get(chat);
    if (group === undefined) throw new Error(`there is no group ${chat}: make it with group()`);
    return group;
  };
  const threadOf = ({ thread }: Place): { readonly [field: string]: unknown } =>
    thread === undefined ? {} : { message_thread_id: thread, is_topic_message: true };
  /** Private chats reach their bot, groups all bots. */
  const tell = (chat: Chat, kind: string, body: unknown): void => {
    for (const listener of chat.type === "private" ? [bot] : state.bots.values())
      listener.queue.push(kind, body);
  };
  const fields = (chat: Chat, options: SayOptions): { readonly [field: string]: unknown } => ({
    from: user,
    ...threadOf(options),
    ...(options.replyTo === undefined
      ? {}
      : { reply_to_message: withoutReply(chat.messages.get(options.replyTo)) }),
    ...(options.quote === undefined ? {} : { quote: { text: options.quote, position: 0 } }),
    ...(options.forwardedFrom === undefined
      ? {}
      : {
          forward_origin: {
            type: "hidden_user",
            sender_user_name: options.forwardedFrom,
            date: state.seconds(),
          },
        }),
    ...options.fields,
  });
  const say = (options: SayOptions, content: { readonly [field: string]: unknown }): Message => {
    const chat = chatAt(options);
    const message = state.addMessage(chat, { ...fields(chat, options), ...content });
    tell(chat, chat.type === "channel" ? "channel_post" : "message", message);
    return message;
  };
  const stored = (
    options: MediaOptions,
    folder: string,
    fallback: UploadedFile,
  ): { readonly [field: string]: unknown } => {
    const file = state.addFile(options.file ?? fallback, folder, options.statedBytes);
    return { file_id: file.id, file_unique_id: `unique-${file.id}`, file_size: file.statedBytes };
  };
  const photo = (options: MediaOptions): { readonly [field: string]: unknown } => {
    const big = stored(options, "photos", { ...tinyFile, name: "photo.jpg", mediaType: "image/jpeg" });
    return {
      photo: [
        { ...big, file_id: `${String(big["file_id"])}-small`, width: 9, height: 6, file_size: 1 },
        { ...big, width: 90, height: 60 },
      ],
    };
  };
  return {
    user,
    says(text, options = {}) {
      const entities = options.entities ?? detectedEntities(text);
      return say(options, { text, ...(entities.length === 0 ? {} : { entities }) });
    },
    edits(messageId, text, place = {}) {
      const chat = chatAt(place);
      const before = chat.messages.get(messageId);
      if (before === undefined)
        throw new Error(`there is no message ${messageId} to edit in chat ${chat.id}`);
      const entities = detectedEntities(text);
      const { entities: _stale, ...rest } = before;
      const edited: Message = {
        ...rest,
        text,
        ...(entities.length === 0 ? {} : { entities }),
        edit_date: state.seconds(),
      };
      chat.messages.set(messageId, edited);
      tell(chat, chat.type === "channel" ? "edited_channel_post" : "edited_message", edited);
      return edited;
    },
    presses(messageId, value, place = {}) {
      const chat = chatAt(place);
      const message = chat.messages.get(messageId);
      const offered =
        message?.reply_markup?.inline_keyboard.flat().some((button) => button.callback_data === value) ??
        false;
      if (message === undefined || !offered)
        throw new Error(`message ${messageId} in chat ${chat.id} has no button "${value}"`);
      const owner = [...state.bots.values()].find((candidate) => candidate.me.id === message.from?.id) ?? bot;
      const id = `callback-${owner.callbacks.size + 1}`;
      owner.callbacks.set(id, {});
      owner.queue.push("callback_query", {
        id,
        from: user,
        message,
        chat_instance: String(chat.id),
        data: value,
      });
      return id;
    },
    reacts(messageId, emoji, place = {}) {
      const chat = chatAt(place);
      const byUser = chat.reactions.get(messageId) ?? new Map<number, readonly unknown[]>();
      const before = byUser.get(user.id) ?? [];
      const after = emoji === null ? [] : [{ type: "emoji", emoji }];
      byUser.set(user.id, after);
      chat.reactions.set(messageId, byUser);
      tell(chat, "message_reaction", {
        chat: chatJson(chat),
        message_id: messageId,
        user,
        date: state.seconds(),
        old_reaction: before,
        new_reaction: after,
      });
    },
    sendsPhoto: (options = {}) => say(options, { ...photo(options), ...captionOf(options.caption) }),
    sendsDocument(options = {}) {
      const file = options.file ?? tinyFile;
      const document = {
        ...stored(options, "documents", tinyFile),
        file_name: file.name,
        mime_type: file.mediaType,
      };
      return say(options, { document, ...captionOf(options.caption) });
    },
    sendsVoice(options = {}) {
      const voice = {
        ...stored(options, "voice", { ...tinyFile, name: "voice.oga", mediaType: "audio/ogg" }),
        duration: 3,
        mime_type: "audio/ogg",
      };
      return say(options, { voice, ...captionOf(options.caption) });
    },
    sends: (field, value, options = {}) => say(options, { [field]: value }),
    sendsAlbum(count, options = {}) {
      const group = `group-${state.files.size}-${user.id}`;
      return Array.from({ length: count }, (_, index) =>
        say(options, {
          ...photo(options),
          media_group_id: group,
          ...(index === 0 ? captionOf(options.caption) : {}),
        }),
      );
    },
    blocks() {
      chatAt({}).barred = "bot was blocked by the user";
    },
    unblocks() {
      delete chatAt({}).barred;
    },
  };
}

/**
 * Bot API: the quoted message "will not contain further reply_to_message fields even if it itself is a
 * reply".
 */
function withoutReply(message: Message | undefined): unknown {
  if (message === undefined) return undefined;
  const { reply_to_message: _further, ...rest } = message;
  return rest;
}
