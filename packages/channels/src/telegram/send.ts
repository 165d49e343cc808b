// Sends one rendered part as one call (an album: one call, several messages). Limits are checked before
// anything is written. Only a refused quote or text gets a second attempt (refused-text.ts), because a
// refusal means that nothing was sent.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type {
  InputMediaAudio,
  InputMediaDocument,
  InputMediaPhoto,
  InputMediaVideo,
  MessageEntity,
} from "grammy/types";
import {
  type Address,
  Fault,
  isFault,
  type Log,
  type MediaFile,
  type MediaKind,
  type MediaShape,
  type Receipt,
  type RenderedPart,
  type RenderedText,
} from "@parley/protocol";
import { overLimit } from "../over-limit.ts";
import { checkPoll } from "../poll-limits.ts";
import { type BotApi, grammySignal, type Upload } from "./bot-api.ts";
import { albumFiles, photoBytes, telegramCapabilities } from "./capabilities.ts";
import { destination } from "./destination.ts";
import { inlineKeyboard } from "./keyboard.ts";
import { halves, isTooLong, needsPieces, sendInPieces, withoutEntitiesIfRefused } from "./refused-text.ts";
import { refusalWords } from "./refusals.ts";
import { spelledOut } from "./spelled-out.ts";
import { sendVoice } from "./voice.ts";

export interface SendContext {
  readonly api: BotApi;
  readonly log: Log;
  /** Folder that `MediaFile.path` is relative to. */
  readonly mediaFolder: string;
}

type Media = InputMediaAudio | InputMediaDocument | InputMediaPhoto | InputMediaVideo;
type Sent = { readonly message_id: number; readonly chat?: { readonly id?: number } };

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
  const quietly = part.silent === true ? { disable_notification: true } : {};
  const target = { ...destination(to), ...quietly, ...replyParameters(part.replyTo) };
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
      const sendAs = async (kind: MediaKind, text: string, entities: MessageEntity[]): Promise<Sent[]> => {
        // An upload can be read only once, so every attempt makes its own.
        const media = part.files.map((file, index) => ({
          ...inputMedia(api.file(join(mediaFolder, file.path), file.name), kind),
          ...(index === 0 && text !== "" ? { caption: text, caption_entities: entities } : {}),
        }));
        const [only] = media;
        const [file] = part.files;
        if (part.shape !== undefined && file !== undefined) {
          const shaped = await sendShaped(api, mediaFolder, target, file, part.shape, signal);
          if (shaped !== null) return [shaped];
        }
        if (media.length === 1 && only !== undefined) return [await sendOne(api, target, only, signal)];
        const album: unknown = await api.raw.sendMediaGroup(
          { ...target, media: media as InputMediaPhoto[] },
          signal,
        );
        return Array.isArray(album) ? (album as Sent[]) : [];
      };
      const kind = part.media === "image" && !part.files.every(isPhoto) ? "file" : part.media;
      const sendMedia = (text: string, entities: MessageEntity[]): Promise<Sent[]> =>
        sendAs(kind, text, entities).catch((error: unknown) => {
          // Too long, too narrow or not quite a picture: as a file people get it as it is.
          if (kind !== "image" || !isRefusedPhoto(error)) throw error;
          return sendAs("file", text, entities);
        });
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
            { ...destination(to), ...quietly, text, link_preview_options: { is_disabled: true } },
            signal,
          );
        return receipt(...sent, ...(await sendInPieces([spelledOut(caption)], say, sent.length)));
      }
    }
    case "voice":
      await checkFile(mediaFolder, part.file);
      return receipt(await sendVoice(api, join(mediaFolder, part.file.path), part.file, target, signal));
    case "poll": {
      checkPoll(part, telegramCapabilities.pollLimits, "Telegram");
      const sent = await api.raw.sendPoll(
        {
          ...target,
          question: part.question,
          options: part.options.map((text) => ({ text })),
          is_anonymous: part.anonymous,
          allows_multiple_answers: part.multiple,
          ...(part.hours === undefined ? {} : { open_period: part.hours * 3_600 }),
        },
        signal,
      );
      // Votes name the poll and neither its message nor its chat.
      const done = receipt(sent);
      const id: unknown = (sent as { readonly poll?: { readonly id?: unknown } }).poll?.id;
      return typeof id === "string" ? { ...done, extra: { ...done.extra, poll: id } } : done;
    }
  }
}

/** Ids that are not Telegram messages (of a callback or a reaction) quote nothing. */
function replyParameters(replyTo: string | undefined): {
  readonly reply_parameters?: { message_id: number; allow_sending_without_reply: true };
} {
  if (replyTo === undefined || !/^\d+$/.test(replyTo)) return {};
  return { reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true } };
}

export function checkText({ text }: RenderedText, limitChars: number): void {
  if (text.length > limitChars)
    throw new Fault("invalid", `${text.length} UTF-16 units of text are over Telegram's ${limitChars}`);
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
    throw overLimit(`"${file.name}" has ${size} bytes; Telegram takes at most ${limit} from bots`);
}

const photoTypes = new Set(["image/jpeg", "image/png", "image/webp"]);

/**
 * Images that Telegram does not take as a photo (other types, over 10 MB) go as documents, with their whole
 * album.
 */
function isPhoto({ mediaType, bytes }: MediaFile): boolean {
  return photoTypes.has(mediaType) && bytes <= photoBytes;
}

function isRefusedPhoto(error: unknown): boolean {
  return isFault(error, "invalid") && /photo_[a-z]|image_process_failed/i.test(refusalWords(error));
}

function inputMedia(media: Upload, kind: MediaKind): Media {
  return {
    type: ({ image: "photo", file: "document", video: "video", audio: "audio" } as const)[kind],
    media,
  };
}

type Target = ReturnType<typeof destination> &
  ReturnType<typeof replyParameters> & { readonly disable_notification?: boolean };

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

/** Null where Telegram refuses the file for it: too large, not square, no sticker. Nothing was sent then. */
async function sendShaped(
  { raw, file: upload }: BotApi,
  mediaFolder: string,
  target: Target,
  file: MediaFile,
  shape: MediaShape,
  signal: ReturnType<typeof grammySignal>,
): Promise<Sent | null> {
  const sent = upload(join(mediaFolder, file.path), file.name);
  try {
    return shape === "sticker"
      ? await raw.sendSticker({ ...target, sticker: sent }, signal)
      : await raw.sendVideoNote({ ...target, video_note: sent }, signal);
  } catch (error) {
    // A refused quote is dropped by whoever asked, and the shape tried again.
    if (!isFault(error, "invalid") || /repl(?:y|ied)|quote/i.test(refusalWords(error))) throw error;
    return null;
  }
}

/** An album's receipt is its first message; `extra.messageIds` names all. */
function receiptOf(to: Address, log: Log, sent: readonly (Sent | null)[]): Receipt {
  if (!sent.every(isNamed) || sent.length === 0)
    throw new Fault("ambiguous", "Telegram accepted the message without naming it");
  const elsewhere = sent.find(({ chat }) => chat?.id !== undefined && String(chat.id) !== to.peer);
  if (elsewhere !== undefined)
    log.warn(
      { chat: to.peer, answered: String(elsewhere.chat?.id) },
      "Telegram names another chat than the one sent to",
    );
  const [messageId = "", ...others] = sent.map((message) => String(message.message_id));
  return others.length === 0 ? { messageId } : { messageId, extra: { messageIds: [messageId, ...others] } };
}

function isNamed(sent: Sent | null): sent is Sent {
  return Number.isSafeInteger(sent?.message_id);
}
