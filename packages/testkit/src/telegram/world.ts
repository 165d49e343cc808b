// Keeps the state of the fake Telegram: bots, people, chats, messages and files. It stores messages as the
// Bot API shows them.
import type { Clock } from "@parley/protocol";
import type { UploadedFile } from "./body.ts";
import { type UpdateQueue, updateQueue } from "./queue.ts";
import { badRequest, forbidden } from "./refusal.ts";
import type { Entity } from "./text.ts";

export interface User {
  readonly id: number;
  readonly is_bot: boolean;
  readonly first_name: string;
  readonly username?: string;
}

interface InlineButton {
  readonly text: string;
  readonly callback_data?: string;
  readonly url?: string;
}

export interface Message {
  readonly message_id: number;
  readonly date: number;
  readonly chat: { readonly id: number; readonly type: string; readonly [field: string]: unknown };
  readonly from?: User;
  readonly text?: string;
  readonly entities?: readonly Entity[];
  readonly caption?: string;
  readonly reply_markup?: { readonly inline_keyboard: readonly (readonly InlineButton[])[] };
  readonly [field: string]: unknown;
}

/** A right that a test may take from the bot in a chat. */
export type ChatRight = "pin" | "topics";

export interface Chat {
  readonly id: number;
  readonly type: "private" | "group" | "supergroup" | "channel";
  readonly title: string;
  readonly isForum: boolean;
  readonly topics: Map<number, { readonly name: string; closed: boolean; deleted: boolean }>;
  readonly messages: Map<number, Message>;
  /** By message id, then by who reacted. */
  readonly reactions: Map<number, Map<number, readonly unknown[]>>;
  readonly pinned: Set<number>;
  /** Why the bot may not write here: the text after "Forbidden: ". */
  barred?: string;
  /** The bot is a member without the right to write. */
  muted?: boolean;
  readonly lacks: Set<ChatRight>;
  /** The only reactions that the chat's owner allows. */
  takenReactions?: ReadonlySet<string>;
  /** The supergroup that this group became. */
  upgradedTo?: number;
  lastMessageId: number;
}

export interface Bot {
  readonly token: string;
  readonly me: User & {
    readonly can_join_groups: true;
    readonly can_read_all_group_messages: true;
    readonly has_topics_enabled: boolean;
  };
  readonly queue: UpdateQueue;
  /** Private chats are the bot's own: another bot's chat with the same person is another chat. */
  readonly privateChats: Map<number, Chat>;
  /** Open callback queries by id. */
  readonly callbacks: Map<string, { answer?: { readonly text?: string } }>;
  commands: readonly unknown[];
  webhook: {
    readonly url: string;
    readonly secret: string | undefined;
    readonly maxConnections: number;
  } | null;
  webhookError: { readonly date: number; readonly message: string } | null;
}

interface StoredFile extends UploadedFile {
  readonly id: string;
  readonly path: string;
  /** As getFile states it; real bytes may differ when a test wants a liar. */
  readonly statedBytes: number;
}

export interface World {
  readonly clock: Clock;
  readonly bots: Map<string, Bot>;
  readonly groups: Map<number, Chat>;
  readonly files: Map<string, StoredFile>;
  addBot(token: string, username: string, name: string): Bot;
  addChat(bot: Bot | null, id: number, type: Chat["type"], title: string, isForum?: boolean): Chat;
  addFile(file: UploadedFile, folder: string, statedBytes?: number): StoredFile;
  /** Appends to the chat; `fields` are those beyond id, date and chat. */
  addMessage(chat: Chat, fields: { readonly [field: string]: unknown }): Message;
  seconds(): number;
}

export function world(clock: Clock): World {
  const bots = new Map<string, Bot>();
  const groups = new Map<number, Chat>();
  const files = new Map<string, StoredFile>();
  const seconds = (): number => Math.floor(clock.now() / 1000);
  return {
    clock,
    bots,
    groups,
    files,
    seconds,
    addBot(token, username, name) {
      const id = Number(token.split(":")[0]);
      if (!Number.isSafeInteger(id)) throw new Error(`"${token}" is no bot token: write "<number>:<secret>"`);
      const bot: Bot = {
        token,
        me: {
          id,
          is_bot: true,
          first_name: name,
          username,
          can_join_groups: true,
          can_read_all_group_messages: true,
          has_topics_enabled: false,
        },
        queue: updateQueue(clock),
        privateChats: new Map(),
        callbacks: new Map(),
        commands: [],
        webhook: null,
        webhookError: null,
      };
      bots.set(token, bot);
      return bot;
    },
    addChat(bot, id, type, title, isForum = false) {
      const chat: Chat = {
        id,
        type,
        title,
        isForum,
        topics: new Map(),
        messages: new Map(),
        reactions: new Map(),
        pinned: new Set(),
        lacks: new Set(),
        // In a forum, message 1 made the General topic.
        lastMessageId: isForum ? 1 : 0,
      };
      (bot === null ? groups : bot.privateChats).set(id, chat);
      return chat;
    },
    addFile(file, folder, statedBytes = file.bytes.length) {
      const number = files.size + 1;
      const extension = /\.\w{1,8}$/.exec(file.name)?.[0] ?? "";
      const stored = {
        ...file,
        id: `file-${number}`,
        path: `${folder}/file_${number}${extension}`,
        statedBytes,
      };
      files.set(stored.id, stored);
      return stored;
    },
    addMessage(chat, fields) {
      const message: Message = {
        message_id: ++chat.lastMessageId,
        date: seconds(),
        chat: chatJson(chat),
        ...fields,
      };
      chat.messages.set(message.message_id, message);
      return message;
    },
  };
}

export function chatJson(chat: Chat): Message["chat"] {
  if (chat.type === "private") return { id: chat.id, type: chat.type, first_name: chat.title };
  return { id: chat.id, type: chat.type, title: chat.title, ...(chat.isForum ? { is_forum: true } : {}) };
}

/**
 * The chat that a bot means by `chat_id`. Throws Refusal when it is unknown to the bot, gone, or closed to
 * it.
 */
export function chatFor(state: World, bot: Bot, chatId: unknown): Chat {
  const id = Number(chatId);
  const chat = bot.privateChats.get(id) ?? state.groups.get(id);
  if (chat === undefined) throw badRequest("chat not found");
  if (chat.upgradedTo !== undefined) {
    throw badRequest("group chat was upgraded to a supergroup chat", { migrate_to_chat_id: chat.upgradedTo });
  }
  if (chat.barred !== undefined) throw forbidden(chat.barred);
  return chat;
}
