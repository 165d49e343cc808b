// Implements what a bot does to a chat beside writing: typing, reactions, pins, topics, callback answers, the
// command menu.
import { badRequest } from "../refusal.ts";
import { type Chat, chatFor, type ChatRight } from "../world.ts";
import { messageFor, type Methods } from "./call.ts";

export const chatMethods: Methods = {
  sendChatAction({ state, bot, params }) {
    const chat = chatFor(state, bot, params["chat_id"]);
    const thread = params["message_thread_id"];
    // Typing alone names General by its id 1.
    if (thread !== undefined && !(chat.isForum && thread === 1) && !chat.topics.has(Number(thread)))
      throw badRequest("message thread not found");
    return true;
  },
  setMessageReaction({ state, bot, params }) {
    const chat = chatFor(state, bot, params["chat_id"]);
    const message = messageFor(chat, params["message_id"], "message to react not found");
    const reactions = (params["reaction"] as readonly unknown[] | undefined) ?? [];
    // Bot API: "bots can set up to one reaction per message" as non-premium users do.
    if (reactions.length > 1) throw badRequest("REACTIONS_TOO_MANY");
    const emoji = (reactions[0] as { readonly emoji?: string } | undefined)?.emoji;
    if (emoji !== undefined && chat.takenReactions?.has(emoji) === false)
      throw badRequest("REACTION_INVALID");
    const byUser = chat.reactions.get(message.message_id) ?? new Map<number, readonly unknown[]>();
    byUser.set(bot.me.id, reactions);
    chat.reactions.set(message.message_id, byUser);
    return true;
  },
  answerCallbackQuery({ bot, params }) {
    const callback = bot.callbacks.get(String(params["callback_query_id"]));
    if (callback === undefined || callback.answer !== undefined) {
      throw badRequest("query is too old and response timeout expired or query ID is invalid");
    }
    const text = params["text"];
    if (typeof text === "string" && text.length > 200) throw badRequest("MESSAGE_TOO_LONG");
    callback.answer = typeof text === "string" ? { text } : {};
    return true;
  },
  pinChatMessage({ state, bot, params }) {
    const chat = chatFor(state, bot, params["chat_id"]);
    requireRight(chat, "pin", "not enough rights to manage pinned messages in the chat");
    chat.pinned.add(messageFor(chat, params["message_id"], "message to pin not found").message_id);
    return true;
  },
  unpinChatMessage({ state, bot, params }) {
    const chat = chatFor(state, bot, params["chat_id"]);
    requireRight(chat, "pin", "not enough rights to manage pinned messages in the chat");
    const id = params["message_id"] === undefined ? [...chat.pinned].at(-1) : Number(params["message_id"]);
    if (id === undefined || !chat.pinned.delete(id)) throw badRequest("message to unpin not found");
    return true;
  },
  createForumTopic({ state, bot, params }) {
    const chat = chatFor(state, bot, params["chat_id"]);
    if (!chat.isForum) throw badRequest("the chat is not a forum");
    requireRight(chat, "topics", "not enough rights to create a topic");
    const name = String(params["name"]);
    if (name.length < 1 || name.length > 128) throw badRequest("TOPIC_TITLE_INVALID");
    const created = state.addMessage(chat, {
      from: bot.me,
      forum_topic_created: { name, icon_color: 7322096 },
    });
    chat.topics.set(created.message_id, { name, closed: false, deleted: false });
    return { message_thread_id: created.message_id, name, icon_color: 7322096 };
  },
  closeForumTopic({ state, bot, params }) {
    topicOf({ state, bot, params }).closed = true;
    return true;
  },
  reopenForumTopic({ state, bot, params }) {
    topicOf({ state, bot, params }).closed = false;
    return true;
  },
  deleteForumTopic({ state, bot, params }) {
    topicOf({ state, bot, params }).deleted = true;
    return true;
  },
  setMyCommands({ bot, params }) {
    const commands = params["commands"] as readonly {
      readonly command: string;
      readonly description: string;
    }[];
    if (commands.length > 100) throw badRequest("BOT_COMMANDS_TOO_MUCH");
    for (const { command, description } of commands) {
      if (!/^[a-z0-9_]{1,32}$/.test(command)) throw badRequest("BOT_COMMAND_INVALID");
      if (description.length < 1 || description.length > 256)
        throw badRequest("BOT_COMMAND_DESCRIPTION_INVALID");
    }
    bot.commands = commands;
    return true;
  },
  deleteMyCommands({ bot }) {
    bot.commands = [];
    return true;
  },
  getMyCommands: ({ bot }) => bot.commands,
  getChat({ state, bot, params }) {
    const chat = chatFor(state, bot, params["chat_id"]);
    return { id: chat.id, type: chat.type, title: chat.title };
  },
};

function requireRight(chat: Chat, right: ChatRight, refusal: string): void {
  if (chat.lacks.has(right)) throw badRequest(refusal);
}

function topicOf({ state, bot, params }: Pick<Parameters<Methods[string]>[0], "state" | "bot" | "params">): {
  closed: boolean;
  deleted: boolean;
} {
  const topic = chatFor(state, bot, params["chat_id"]).topics.get(Number(params["message_thread_id"]));
  if (topic === undefined) throw badRequest("message thread not found");
  return topic;
}
