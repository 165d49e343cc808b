// Normalizes an update of the Bot API into an Inbound. Pure, and checked against the schema, so that nothing
// malformed goes further (I13). An update that makes it throw becomes an `Unreadable`; null means that the
// update is not for us (service messages, kinds we did not ask for).
// Next: apps/gateway/src/receive/receive.ts.
import type {
  CallbackQuery,
  Chat,
  Message,
  MessageReactionUpdated,
  ReactionType,
  Update,
} from "grammy/types";
import { type Address, type Inbound, inboundSchema } from "@parley/protocol";
import { addressing, type BotIdentity, quotedMessage } from "./addressing.ts";
import { contentOf, originName, personName, quotedWords } from "./content.ts";
import { salvage, salvageQuery, salvageReaction } from "./salvage.ts";
import { chatSender, senderOf } from "./sender.ts";
import { fromVote } from "./vote.ts";
import { generalThread } from "./destination.ts";

/**
 * A group became a supergroup, so everything that names the old chat must name the new one. Both chats report
 * it.
 */
export interface ChatMigration {
  readonly kind: "migration";
  readonly fromChat: string;
  readonly toChat: string;
}

export interface NormalizeContext {
  readonly channel: string;
  readonly account: string;
  readonly me: BotIdentity;
  /** Id of the present bot, which event ids carry where the account was another bot before. */
  readonly bot?: string | undefined;
  /** When the update arrived, in milliseconds since the epoch; the time of updates that carry none. */
  readonly nowMs: number;
  /** Called with the paths of parts that could not be read and were left out. */
  readonly onLeftOut?: (paths: readonly string[]) => void;
}

/**
 * The kinds that we ask Telegram for. Reactions come only when asked for; without a list, several unused
 * kinds would come.
 */
export const wantedUpdates = [
  "message",
  "edited_message",
  "channel_post",
  "edited_channel_post",
  "callback_query",
  "message_reaction",
  "poll_answer",
] as const satisfies readonly Exclude<keyof Update, "update_id">[];

export function eventId(
  { channel, account, bot }: Pick<NormalizeContext, "channel" | "account" | "bot">,
  updateId: number,
): string {
  return `${channel}:${account}:${bot === undefined ? "" : `b${bot}.`}u${updateId}`;
}

/**
 * The conversation and sender of an update that cannot be read as a whole. Null when even these cannot be
 * read.
 */
export function placeOf(
  update: Update,
  context: NormalizeContext,
): Pick<Inbound, "address" | "sender"> | null {
  const message =
    update.message ?? update.edited_message ?? update.channel_post ?? update.edited_channel_post;
  if (message === undefined) return null;
  try {
    return placeSchema.parse({
      address: addressOf(message.chat, context, message),
      sender: senderOf(message),
    });
  } catch {
    return null; // Not even these can be read.
  }
}

const placeSchema = inboundSchema.pick({ address: true, sender: true });

/** Throws for an update of a wanted kind whose form cannot be read. */
export function normalize(update: Update, context: NormalizeContext): Inbound | ChatMigration | null {
  const written = update.message ?? update.channel_post;
  const edited = update.edited_message ?? update.edited_channel_post;
  const message = written ?? edited;
  const found =
    message !== undefined
      ? fromMessage(message, edited !== undefined, context)
      : update.callback_query !== undefined
        ? fromCallback(update.callback_query, context)
        : update.message_reaction !== undefined
          ? fromReaction(update.message_reaction, update.update_id, context)
          : update.poll_answer !== undefined
            ? fromVote(update.poll_answer, update.update_id, context)
            : null;
  if (found === null || found.kind === "migration") return found;
  const { channel, account, bot } = context;
  return inboundSchema.parse({
    ...found,
    id: eventId(context, update.update_id),
    channel,
    account,
    ...(bot === undefined ? {} : { bot }),
  });
}

type Body = Omit<Inbound, "id" | "channel" | "account" | "bot">;

function fromMessage(told: Message, isEdit: boolean, context: NormalizeContext): Body | ChatMigration | null {
  const { me } = context;
  const { message, left } = salvage(told, context.nowMs);
  if (left.length > 0) context.onLeftOut?.(left);
  const migration = migrationOf(message);
  if (migration !== null) return migration;
  const sender = senderOf(message);
  if (sender.id === me.id) return null;
  const content = contentOf(message);
  // The message has content, but in a part that cannot be read.
  if (content === null && left.length > 0)
    throw new Error(`it says nothing but what cannot be read: ${left.join(", ")}`);
  if (content === null) return null;
  const { mentions, isCommand, text, toUs } = addressing(message, content.text, me);
  const address = addressOf(message.chat, context, message);
  const replyTo = replyOf(message, me);
  // Forwarded messages of one batch share no id, but arrive together.
  const groupId = message.media_group_id ?? (message.forward_origin === undefined ? undefined : "forwarded");
  return {
    address,
    sender,
    messageId: String(message.message_id),
    kind: isEdit ? "edit" : isCommand ? "command" : "message",
    text,
    attachments: [...content.attachments],
    ...(content.enclosed.length === 0 ? {} : { enclosed: [...content.enclosed] }),
    ...(replyTo === null ? {} : { replyTo }),
    mentions: [...mentions],
    addressed: address.kind === "dm" || toUs,
    ...(groupId === undefined ? {} : { groupId }),
    ...titleOf(message, address),
    atMs: message.date * 1000,
    ...(isEdit ? { editedAtMs: (message.edit_date ?? message.date) * 1000 } : {}),
  };
}

/**
 * A pressed button. The query's own id tells two presses of one button apart; the press replies to the
 * message with the button.
 */
function fromCallback(told: CallbackQuery, context: NormalizeContext): Body | null {
  const query = salvageQuery(told);
  const { message, data } = query;
  // Buttons of inline results and games have no chat or no value.
  if (message === undefined || data === undefined) return null;
  const isReadable = "text" in message || "caption" in message;
  const text = isReadable ? (message.text ?? message.caption) : undefined;
  return {
    address: addressOf(message.chat, context, message as Message),
    sender: { id: String(query.from.id), name: personName(query.from), isBot: query.from.is_bot === true },
    messageId: `callback-${query.id}`,
    kind: "callback",
    text: data,
    attachments: [],
    replyTo: { messageId: String(message.message_id), toBot: true, ...(text === undefined ? {} : { text }) },
    mentions: [],
    addressed: true,
    callback: { id: query.id, value: data },
    // Callback queries carry no time; the message's time would be the button's age.
    atMs: context.nowMs,
  };
}

/**
 * Telegram does not say whose message it was, so `toBot` is false here; the gateway, which knows our message
 * ids, decides. Telegram does not name the topic either.
 */
function fromReaction(
  told: MessageReactionUpdated,
  updateId: number,
  context: NormalizeContext,
): Body | null {
  const reaction = salvageReaction(told, context.nowMs);
  const sender =
    reaction.user !== undefined
      ? {
          id: String(reaction.user.id),
          name: personName(reaction.user),
          isBot: reaction.user.is_bot === true,
        }
      : chatSender(reaction.actor_chat);
  if (sender.id === context.me.id) return null;
  const before = new Set(reaction.old_reaction.map(reactionName));
  const after = new Set(reaction.new_reaction.map(reactionName));
  const changes = [
    ...[...after].filter((name) => !before.has(name)).map((name) => `reacted ${name}`),
    ...[...before].filter((name) => !after.has(name)).map((name) => `took back ${name}`),
  ];
  if (changes.length === 0) return null;
  return {
    address: addressOf(reaction.chat, context, {}),
    sender,
    messageId: `reaction-${updateId}`,
    kind: "reaction",
    text: changes.join(", "),
    attachments: [],
    replyTo: { messageId: String(reaction.message_id), toBot: false },
    mentions: [],
    addressed: false,
    atMs: reaction.date * 1000,
  };
}

/** A topic's title comes only with messages that follow the one that opened it; General is the group. */
function titleOf({ chat, reply_to_message: opening }: Message, { thread }: Address): Pick<Inbound, "title"> {
  const isTopic = thread !== undefined && thread !== generalThread;
  const title = isTopic ? opening?.forum_topic_created?.name : chat.title;
  return typeof title === "string" && title !== "" ? { title } : {};
}

function addressOf(
  chat: Chat,
  { channel, account }: NormalizeContext,
  at: Pick<Message, "message_thread_id" | "is_topic_message">,
): Address {
  const kind = ({ private: "dm", group: "group", supergroup: "group", channel: "channel" } as const)[
    chat.type
  ];
  if (kind === undefined) throw new Error(`chat type "${String(chat.type)}" is unknown`);
  // Outside topics `message_thread_id` only names a chain of replies. In a forum, messages outside all topics
  // belong to General.
  const isForum = "is_forum" in chat && chat.is_forum === true;
  const thread =
    at.is_topic_message === true && at.message_thread_id !== undefined
      ? String(at.message_thread_id)
      : isForum
        ? generalThread
        : undefined;
  return { channel, account, kind, peer: String(chat.id), ...(thread === undefined ? {} : { thread }) };
}

function replyOf(message: Message, me: BotIdentity): NonNullable<Inbound["replyTo"]> | null {
  const quoted = quotedMessage(message);
  const quote = message.quote?.text;
  if (quoted !== null) {
    const text = quote ?? quotedWords(quoted as Message);
    const sender = quoted.from === undefined ? quoted.sender_chat?.title : personName(quoted.from);
    return {
      messageId: String(quoted.message_id),
      ...(text === undefined ? {} : { text }),
      ...(sender === undefined ? {} : { sender }),
      toBot: String(quoted.from?.id) === me.id,
    };
  }
  // A reply to a message of another chat: its id means nothing here, so it is marked as external.
  const external = message.external_reply;
  if (external === undefined) return null;
  return {
    messageId: `external-${external.message_id ?? 0}`,
    ...(quote === undefined ? {} : { text: quote }),
    sender: originName(external.origin),
    toBot: false,
  };
}

function migrationOf(message: Message): ChatMigration | null {
  const here = String(message.chat.id);
  const { migrate_to_chat_id: to, migrate_from_chat_id: from } = message;
  if (to !== undefined) return { kind: "migration", fromChat: here, toChat: String(to) };
  return from === undefined ? null : { kind: "migration", fromChat: String(from), toChat: here };
}

function reactionName(reaction: ReactionType): string {
  if (reaction.type === "emoji") return reaction.emoji ?? "an emoji";
  return reaction.type === "custom_emoji" ? `custom emoji ${reaction.custom_emoji_id}` : "⭐";
}
