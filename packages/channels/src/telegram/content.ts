// Reads the content of a Telegram message: the sender's words, enclosed content of others, and references to
// files.
import type { Message, MessageOrigin } from "grammy/types";
import type { Attachment, Enclosed } from "@parley/protocol";

export interface Content {
  /** The sender's own words; empty for forwarded content. */
  readonly text: string;
  readonly enclosed: readonly Enclosed[];
  readonly attachments: readonly Attachment[];
}

/** Null for messages with nothing to answer: service messages and kinds that are newer than this file. */
export function contentOf(message: Message): Content | null {
  const attachments = attachmentsOf(message);
  const words = message.text ?? message.caption;
  const thing = words === undefined ? described(message) : null;
  if (words === undefined && thing === null && attachments.length === 0) return null;
  const origin = message.forward_origin;
  const along = thing === null ? [] : [thing];
  if (origin === undefined) return { text: words ?? "", enclosed: along, attachments };
  const passed: Enclosed = {
    kind: "forward",
    from: originName(origin),
    words: words === undefined ? [] : [words],
  };
  return { text: "", enclosed: [passed, ...along], attachments };
}

/** Kinds that people can send and an agent cannot be shown; it is told that there was one. */
export const unsupportedKinds = [
  "story",
  "game",
  "paid_media",
  "invoice",
  "giveaway",
  "giveaway_winners",
  "checklist",
] as const;

/** Describes content that has neither text nor file. */
function described(message: Message): Enclosed | null {
  const { venue, location, contact, poll, dice } = message;
  if (venue !== undefined)
    return { kind: "venue", words: [venue.title, venue.address, place(venue.location)] };
  if (location !== undefined) return { kind: "location", words: [place(location)] };
  if (contact !== undefined) return { kind: "contact", words: [personName(contact), contact.phone_number] };
  if (poll !== undefined)
    return { kind: "poll", words: [poll.question, ...poll.options.map((option) => option.text)] };
  if (dice !== undefined) return { kind: "dice", words: [dice.emoji, String(dice.value)] };
  const unsupported = unsupportedKinds.find((kind) => kind in message);
  return unsupported === undefined
    ? null
    : { kind: "unsupported", words: [unsupported.replaceAll("_", " ")] };
}

/** A quoted message in words, for the fenced quote in the prompt. */
export function quotedWords(message: Message): string | undefined {
  return message.text ?? message.caption ?? described(message)?.words.join(", ");
}

function place({ latitude, longitude }: { readonly latitude: number; readonly longitude: number }): string {
  return `${latitude.toFixed(6)}, ${longitude.toFixed(6)}`;
}

export function originName(origin: MessageOrigin): string {
  switch (origin.type) {
    case "user":
      return personName(origin.sender_user);
    case "hidden_user":
      return origin.sender_user_name;
    case "chat":
      return origin.sender_chat.title ?? "a chat";
    case "channel":
      return origin.chat.title ?? "a channel";
  }
}

export function personName(user: { readonly first_name?: string; readonly last_name?: string }): string {
  return [user.first_name, user.last_name].filter((name) => name !== undefined && name !== "").join(" ");
}

function attachmentsOf(message: Message): Attachment[] {
  const { photo, animation, document, video, video_note: videoNote, audio, voice, sticker } = message;
  const largest = photo?.toSorted((a, b) => b.width * b.height - a.width * a.height)[0];
  if (largest !== undefined) return [attachment("image", largest, { mediaType: "image/jpeg" })];
  // Telegram repeats an animation in `document` for old clients.
  if (animation !== undefined)
    return [attachment("video", animation, { description: "animation" }), ...still(animation)];
  if (document !== undefined) return [attachment("file", document)];
  if (video !== undefined) return [attachment("video", video), ...still(video)];
  if (videoNote !== undefined)
    return [
      attachment("video", videoNote, { mediaType: "video/mp4", description: "round video message" }),
      ...still(videoNote),
    ];
  if (audio !== undefined)
    return [attachment("audio", audio, audio.title === undefined ? {} : { description: audio.title })];
  if (voice !== undefined) return [attachment("voice", voice, { mediaType: voice.mime_type ?? "audio/ogg" })];
  if (sticker !== undefined) {
    const mediaType = sticker.is_video
      ? "video/webm"
      : sticker.is_animated
        ? "application/x-tgsticker"
        : "image/webp";
    return [
      attachment("sticker", sticker, {
        mediaType,
        ...(sticker.emoji === undefined ? {} : { description: sticker.emoji }),
      }),
    ];
  }
  return [];
}

/** Telegram's picture of a film, which a model that sees is shown in its place. */
function still({ thumbnail }: Filmed): readonly Attachment[] {
  if (thumbnail === undefined) return [];
  return [
    { kind: "image", ref: thumbnail.file_id, mediaType: "image/jpeg", description: "a still of the video" },
  ];
}

interface Filmed {
  readonly thumbnail?: { readonly file_id: string };
}

interface TelegramFile {
  readonly file_id: string;
  readonly file_name?: string;
  readonly mime_type?: string;
  readonly file_size?: number;
  readonly duration?: number;
}

function attachment(
  kind: Attachment["kind"],
  file: TelegramFile,
  known: Pick<Attachment, "mediaType" | "description"> = {},
): Attachment {
  return {
    kind,
    ref: file.file_id,
    ...(file.file_name === undefined ? {} : { name: file.file_name }),
    ...(file.mime_type === undefined ? {} : { mediaType: file.mime_type }),
    ...(file.file_size === undefined ? {} : { bytes: file.file_size }),
    ...(file.duration === undefined ? {} : { seconds: file.duration }),
    ...known,
  };
}
