// Sends one rendered part as one call (an album: one call, several messages). Limits are checked before
// anything is written. The only second attempt sends the same text without entities after Telegram refused
// the entities, so certainly nothing was sent before.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type {
  InlineKeyboardMarkup,
  InputMediaAudio,
  InputMediaDocument,
  InputMediaPhoto,
  InputMediaVideo,
  MessageEntity,
} from "grammy/types";
import {
  type Address,
  type Button,
  Fault,
  isFault,
  type Log,
  type MediaFile,
  type MediaKind,
  type Receipt,
  type RenderedPart,
  type RenderedText,
} from "@parley/protocol";
import { type BotApi, grammySignal, type Upload } from "./bot-api.ts";
import { albumFiles, callbackBytes, photoBytes, telegramCapabilities } from "./capabilities.ts";
import { refusalWords } from "./refusals.ts";
import { spelledOut } from "./spelled-out.ts";

export interface SendContext {
  readonly api: BotApi;
  readonly log: Log;
  /** Folder that `MediaFile.path` is relative to. */
  readonly mediaFolder: string;
}

type Media = InputMediaAudio | InputMediaDocument | InputMediaPhoto | InputMediaVideo;
type Sent = { readonly message_id: number; readonly chat?: { readonly id?: number } };

/**
 * Thread id of a forum's General topic. Sends must leave it out (else "message thread not found"); typing
 * must name it.
 */
export const generalThread = "1";

/** When Telegram refuses the quote, the answer is sent without it; nothing was sent yet. */
export async function sendPart(
  context: SendContext,
  to: Address,
  part: RenderedPart,
  abort: AbortSignal,
): Promise<Receipt> {
  try {
    return await sendAsIs(context, to, part, abort);
  } catch (error) {
    if (part.replyTo === undefined || !isCertain(error) || !/repl(?:y|ied)|quote/i.test(refusalWords(error)))
      throw error;
    const { replyTo: _refused, ...bare } = part;
    return await sendAsIs(context, to, bare, abort);
  }
}

/** True for Faults after which certainly nothing was sent. */
function isCertain(error: unknown): boolean {
  return isFault(error) && ["invalid", "missing", "denied", "unsupported"].includes(error.code);
}

async function sendAsIs(
  { api, mediaFolder, log }: SendContext,
  to: Address,
  part: RenderedPart,
  abort: AbortSignal,
): Promise<Receipt> {
  const signal = grammySignal(abort);
  const receipt = (...sent: readonly Sent[]): Receipt => receiptOf(to, log, sent);
  const target = { ...destination(to), ...replyParameters(part.replyTo) };
  switch (part.kind) {
    case "text": {
      checkText(part, telegramCapabilities.textChars);
      const keyboard = part.buttons === undefined ? {} : { reply_markup: inlineKeyboard(part.buttons) };
      const send = (text: string, entities: MessageEntity[], more: object): Promise<Sent> =>
        api.raw.sendMessage(
          { ...target, ...more, text, entities, link_preview_options: { is_disabled: true } },
          signal,
        );
      try {
        return receipt(
          await withoutEntitiesIfRefused(part, telegramCapabilities.textChars, (text, entities) =>
            send(text, entities, keyboard),
          ),
        );
      } catch (error) {
        if (!needsPieces(error, part, telegramCapabilities.textChars)) throw error;
        const whole = spelledOut(part);
        const pieces = isTooLong(error) ? halves(whole) : [whole];
        return receipt(
          ...(await sendInPieces(pieces, (text, isLast) => send(text, [], isLast ? keyboard : {}))),
        );
      }
    }
    case "media": {
      const caption = part.caption ?? { text: "", entities: [], plain: "" };
      checkText(caption, telegramCapabilities.captionChars);
      if (part.files.length < 1 || part.files.length > albumFiles) {
        throw new Fault(
          "invalid",
          `an album on Telegram has 1 to ${albumFiles} files, not ${part.files.length}`,
        );
      }
      await Promise.all(part.files.map((file) => checkFile(mediaFolder, file)));
      const sendMedia = async (text: string, entities: MessageEntity[]): Promise<Sent[]> => {
        // An upload can be read only once, so every attempt makes its own.
        const kind = part.media === "image" && !part.files.every(isPhoto) ? "file" : part.media;
        const media = part.files.map((file, index) => ({
          ...inputMedia(api.file(join(mediaFolder, file.path), file.name), kind),
          ...(index === 0 && text !== "" ? { caption: text, caption_entities: entities } : {}),
        }));
        const [only] = media;
        if (media.length === 1 && only !== undefined) return [await sendOne(api, target, only, signal)];
        return api.raw.sendMediaGroup({ ...target, media: media as InputMediaPhoto[] }, signal);
      };
      try {
        return receipt(
          ...(await withoutEntitiesIfRefused(caption, telegramCapabilities.captionChars, sendMedia)),
        );
      } catch (error) {
        if (caption.text === "" || !needsPieces(error, caption, telegramCapabilities.captionChars))
          throw error;
        const sent = await sendMedia("", []);
        const say = (text: string): Promise<Sent> =>
          api.raw.sendMessage(
            { ...destination(to), text, link_preview_options: { is_disabled: true } },
            signal,
          );
        return receipt(...sent, ...(await sendInPieces([spelledOut(caption)], say, sent.length)));
      }
    }
    case "voice":
      await checkFile(mediaFolder, part.file);
      return receipt(
        await api.raw.sendVoice(
          { ...target, voice: api.file(join(mediaFolder, part.file.path), part.file.name) },
          signal,
        ),
      );
    case "poll":
      return receipt(
        await api.raw.sendPoll(
          {
            ...target,
            question: part.question,
            options: part.options.map((text) => ({ text })),
            is_anonymous: part.anonymous,
            allows_multiple_answers: part.multiple,
          },
          signal,
        ),
      );
  }
}

function isTooLong(error: unknown): boolean {
  return /(?:message|caption) is too long|message_too_long|caption_too_long/i.test(refusalWords(error));
}

function isAboutEntities(error: unknown): boolean {
  return /entit/i.test(refusalWords(error));
}

/**
 * True when Telegram counted more than we did, or refused the entities of a text that is too long without
 * them.
 */
function needsPieces(error: unknown, text: RenderedText, limitChars: number): boolean {
  return isTooLong(error) || (isAboutEntities(error) && spelledOut(text).length > limitChars);
}

/** No server has a lower limit; a refusal at this length has another reason. */
const leastPieceChars = 16;

/**
 * Sends the plain text in several messages after Telegram counted more than we did. A failure after something
 * was sent (`before` counts it) is `ambiguous`, because the part was neither sent nor unsent.
 */
async function sendInPieces(
  pieces: readonly string[],
  send: (text: string, isLast: boolean) => Promise<Sent>,
  before = 0,
): Promise<readonly Sent[]> {
  const sent: Sent[] = [];
  const left = [...pieces];
  for (let text = left.shift(); text !== undefined; text = left.shift()) {
    if (text.length > telegramCapabilities.textChars) {
      left.unshift(...halves(text));
      continue;
    }
    try {
      sent.push(await send(text, left.length === 0));
    } catch (error) {
      if (isTooLong(error) && text.length > leastPieceChars) {
        left.unshift(...halves(text));
        continue;
      }
      if (sent.length + before === 0 || !isFault(error)) throw error;
      throw new Fault("ambiguous", `only the beginning was sent: ${error.message}`, { cause: error });
    }
  }
  return sent;
}

/**
 * Cuts at the last line or word of the first half; a text of one word is cut in the middle, between
 * characters.
 */
function halves(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2);
  const head = text.slice(0, middle);
  const word = Math.max(head.lastIndexOf("\n"), head.lastIndexOf(" "));
  const cut = word > 0 ? word : middle - (/[\uD800-\uDBFF]$/.test(head) ? 1 : 0);
  return [text.slice(0, cut), text.slice(cut)].map((half) => half.trim()).filter((half) => half !== "");
}

/** Throws Fault("invalid") for an address that is no Telegram chat. */
function destination(to: Address): { readonly chat_id: number; readonly message_thread_id?: number } {
  const chat = chatId(to);
  return to.thread === undefined || to.thread === generalThread
    ? chat
    : { ...chat, message_thread_id: wholeNumber(to.thread, "thread") };
}

/** Telegram's ids have at most 52 significant bits, so a number holds them (Bot API, Chat.id). */
export function chatId(to: Address): { readonly chat_id: number } {
  return { chat_id: wholeNumber(to.peer, "chat") };
}

export function wholeNumber(text: string, what: string): number {
  const number = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(number))
    throw new Fault("invalid", `"${text}" is not a Telegram ${what} id: it must be a whole number`);
  return number;
}

/** Ids that are not Telegram messages (of a callback or a reaction) quote nothing. */
function replyParameters(replyTo: string | undefined): {
  readonly reply_parameters?: { message_id: number; allow_sending_without_reply: true };
} {
  if (replyTo === undefined || !/^\d+$/.test(replyTo)) return {};
  return { reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true } };
}

/**
 * Runs `attempt` with the entities, and once more without them when Telegram refuses them. Any other failure
 * passes through.
 */
export async function withoutEntitiesIfRefused<T>(
  { text, entities }: RenderedText,
  limitChars: number,
  attempt: (text: string, entities: MessageEntity[]) => Promise<T>,
): Promise<T> {
  try {
    return await attempt(text, entities as MessageEntity[]);
  } catch (error) {
    if (!isFault(error, "invalid") || entities.length === 0 || !isAboutEntities(error)) throw error;
    // With link addresses written out the text may no longer fit; a caller that can then sends it in pieces.
    const plain = spelledOut({ text, entities });
    if (plain.length > limitChars) throw error;
    return await attempt(plain, []);
  }
}

export function checkText({ text }: RenderedText, limitChars: number): void {
  if (text.length > limitChars)
    throw new Fault("invalid", `${text.length} UTF-16 units of text are over Telegram's ${limitChars}`);
}

export function inlineKeyboard(rows: readonly (readonly Button[])[]): InlineKeyboardMarkup {
  return {
    inline_keyboard: withoutMenus(rows).map((row) =>
      row.map(({ label: text, value, url, style }) => {
        const look = style === undefined ? { text } : { text, style };
        if (url !== undefined) return { ...look, url };
        const data = value ?? text;
        const bytes = new TextEncoder().encode(data).length;
        if (bytes < 1 || bytes > callbackBytes) {
          throw new Fault(
            "invalid",
            `the value of button "${text}" has ${bytes} bytes; Telegram takes 1 to ${callbackBytes}`,
          );
        }
        return { ...look, callback_data: data };
      }),
    ),
  };
}

/** Telegram has no menus, so each choice becomes a button in a row of its own. */
function withoutMenus(rows: readonly (readonly Button[])[]): readonly (readonly Button[])[] {
  return rows.flatMap((row) => {
    const plain = row.filter((button) => button.choices === undefined);
    const chosen = row.flatMap((button) => (button.choices ?? []).map((choice) => [choice]));
    return [...(plain.length === 0 ? [] : [plain]), ...chosen];
  });
}

async function checkFile(mediaFolder: string, file: MediaFile): Promise<void> {
  const size = await stat(join(mediaFolder, file.path)).then(
    (found) => found.size,
    (cause: unknown) => {
      throw new Fault("missing", `the file "${file.name}" (media/${file.path}) cannot be read`, { cause });
    },
  );
  const limit = telegramCapabilities.uploadBytes;
  if (size > limit)
    throw new Fault("invalid", `"${file.name}" has ${size} bytes; Telegram takes at most ${limit} from bots`);
}

const photoTypes = new Set(["image/jpeg", "image/png", "image/webp"]);

/**
 * Images that Telegram does not take as a photo (other types, over 10 MB) go as documents, with their whole
 * album.
 */
function isPhoto({ mediaType, bytes }: MediaFile): boolean {
  return photoTypes.has(mediaType) && bytes <= photoBytes;
}

function inputMedia(media: Upload, kind: MediaKind): Media {
  return {
    type: ({ image: "photo", file: "document", video: "video", audio: "audio" } as const)[kind],
    media,
  };
}

type Target = ReturnType<typeof destination> & ReturnType<typeof replyParameters>;

function sendOne(
  { raw }: BotApi,
  target: Target,
  { type, media, ...caption }: Media,
  signal: ReturnType<typeof grammySignal>,
): Promise<Sent> {
  switch (type) {
    case "photo":
      return raw.sendPhoto({ ...target, photo: media, ...caption }, signal);
    case "video":
      return raw.sendVideo(
        { ...target, video: media, ...caption } as Parameters<typeof raw.sendVideo>[0],
        signal,
      );
    case "audio":
      return raw.sendAudio({ ...target, audio: media, ...caption }, signal);
    case "document":
      return raw.sendDocument({ ...target, document: media, ...caption }, signal);
  }
}

/** An album's receipt is its first message; `extra.messageIds` names all. */
function receiptOf(to: Address, log: Log, sent: readonly Sent[]): Receipt {
  const elsewhere = sent.find(({ chat }) => chat?.id !== undefined && String(chat.id) !== to.peer);
  if (elsewhere !== undefined)
    log.warn(
      { chat: to.peer, answered: String(elsewhere.chat?.id) },
      "Telegram names another chat than the one sent to",
    );
  const messageIds = sent.map((message) => String(message.message_id));
  const [messageId] = messageIds;
  if (messageId === undefined)
    throw new Fault("ambiguous", "Telegram accepted the message without naming it");
  return messageIds.length === 1 ? { messageId } : { messageId, extra: { messageIds } };
}
