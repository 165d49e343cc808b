// Telegram actions other than sending. Edits are idempotent, because "message is not modified" counts as
// success; this makes streaming by edits safe to repeat (I5).
import type { ReactionTypeEmoji } from "grammy/types";
import { type Action, type Address, Fault, isFault, plainReaction, type Receipt } from "@parley/protocol";
import { type BotApi, grammySignal } from "./bot-api.ts";
import { telegramCapabilities, topicChars } from "./capabilities.ts";
import { refusalWords } from "./refusals.ts";
import { chatId, wholeNumber } from "./destination.ts";
import { inlineKeyboard } from "./keyboard.ts";
import { withoutEntitiesIfRefused } from "./refused-text.ts";
import { checkText } from "./send.ts";

/** Telegram's menu holds 100 commands. A longer list is cut, so the caller puts the important ones first. */
const menuCommands = 100;

export async function performAction(
  { raw }: BotApi,
  to: Address,
  action: Action,
  abort: AbortSignal,
): Promise<Receipt | null> {
  const signal = grammySignal(abort);
  const chat = chatId(to);
  const message = (id: string): { chat_id: number; message_id: number } => ({
    ...chat,
    message_id: wholeNumber(id, "message"),
  });
  switch (action.kind) {
    case "edit":
      await edit(raw, message(action.messageId), action, signal);
      return { messageId: action.messageId };
    case "remove":
      await unless(/message to delete not found/, raw.deleteMessage(message(action.messageId), signal));
      return null;
    case "react": {
      await raw.setMessageReaction(
        { ...message(action.messageId), reaction: action.emoji === null ? [] : [reaction(action.emoji)] },
        signal,
      );
      return null;
    }
    case "pin":
      if (action.pinned)
        await raw.pinChatMessage({ ...message(action.messageId), disable_notification: true }, signal);
      else
        await unless(/message to unpin not found/, raw.unpinChatMessage(message(action.messageId), signal));
      return null;
    case "createThread": {
      const topic: { readonly message_thread_id?: unknown } | null = await raw.createForumTopic(
        { ...chat, name: topicName(action.title) },
        signal,
      );
      if (!Number.isSafeInteger(topic?.message_thread_id))
        throw new Fault("ambiguous", "Telegram opened the topic without naming it");
      const thread = String(topic?.message_thread_id);
      return { messageId: thread, extra: { thread } };
    }
    case "answerCallback":
      await raw.answerCallbackQuery(
        { callback_query_id: action.callbackId, ...(action.text === undefined ? {} : { text: action.text }) },
        signal,
      );
      return null;
    case "setCommands": {
      const commands = action.commands
        .slice(0, menuCommands)
        .map(({ name: command, description }) => ({ command, description }));
      await raw.setMyCommands({ commands }, signal);
      return null;
    }
  }
}

type Raw = BotApi["raw"];
type EditAction = Extract<Action, { kind: "edit" }>;

async function edit(
  raw: Raw,
  target: { chat_id: number; message_id: number },
  action: EditAction,
  signal: ReturnType<typeof grammySignal>,
): Promise<void> {
  const keyboard = action.buttons === undefined ? {} : { reply_markup: inlineKeyboard(action.buttons) };
  checkText(action.text, telegramCapabilities.textChars);
  const asText = withoutEntitiesIfRefused(action.text, telegramCapabilities.textChars, (text, entities) =>
    raw.editMessageText(
      { ...target, text, entities, link_preview_options: { is_disabled: true }, ...keyboard },
      signal,
    ),
  );
  try {
    await unless(/message is not modified/, asText);
  } catch (error) {
    if (!/there is no text in the message/.test(refusalWords(error))) throw error;
    // The text of a media message is its caption.
    checkText(action.text, telegramCapabilities.captionChars);
    const asCaption = withoutEntitiesIfRefused(
      action.text,
      telegramCapabilities.captionChars,
      (caption, entities) =>
        raw.editMessageCaption({ ...target, caption, caption_entities: entities, ...keyboard }, signal),
    );
    await unless(/message is not modified/, asCaption);
  }
}

/** Waits for `work`; a refusal with these words means that the wanted state is already there. */
async function unless(already: RegExp, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isFault(error) || !already.test(refusalWords(error))) throw error;
  }
}

function reaction(emoji: string): ReactionTypeEmoji {
  const plain = plainReaction(emoji, telegramCapabilities, "Telegram");
  return { type: "emoji", emoji: plain as ReactionTypeEmoji["emoji"] };
}

/** A topic cannot hang on a message, so the title is all that Telegram takes. */
function topicName(title: string): string {
  return title.length > topicChars ? `${title.slice(0, topicChars - 1)}…` : title;
}
