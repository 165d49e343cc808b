// Reads the content of a Discord message: the author's words with names in place of ids, enclosed content of
// others, and references to files.
import type {
  APIAttachment,
  APIEmbed,
  APIMessage,
  APIMessageSnapshotFields,
  APIUser,
} from "discord-api-types/v10";
import { type Attachment, type Enclosed, label } from "@parley/protocol";

export interface Content {
  /** The author's own words. */
  readonly text: string;
  readonly enclosed: readonly Enclosed[];
  readonly attachments: readonly Attachment[];
}

/** Defaults for fields that a server may leave out of a message. */
export const absentFields = {
  type: 0,
  content: "",
  mentions: [],
  mention_roles: [],
  attachments: [],
  embeds: [],
  edited_timestamp: null,
} as const;

/** Flag of a voice message. */
const voiceMessage = 1 << 13;

/** Returns the name of a channel or role. */
export type NameOf = (id: string) => string | undefined;

/**
 * Null for a message with nothing to answer. `title` is the title of the forum post that this message opens.
 */
export function contentOf(
  message: APIMessage,
  me: { readonly id: string },
  nameOf: NameOf = () => undefined,
  title?: string,
): Content | null {
  const text = spoken(message.content, message.mentions, me, nameOf);
  const snapshots = (message.message_snapshots ?? []).map((snapshot) => snapshot.message);
  const attachments = [message, ...snapshots].flatMap((from) =>
    (from.attachments ?? []).map((file) =>
      attachmentOf(file, message, ((from.flags ?? 0) & voiceMessage) !== 0),
    ),
  );
  const passed = snapshots.flatMap((each): Enclosed[] => {
    const words = each.content === undefined || each.content === "" ? [] : [each.content];
    return [{ kind: "forward", words }, ...described(each)];
  });
  const enclosed = [...described(message), ...passed];
  if (text === "" && enclosed.length === 0 && attachments.length === 0 && title === undefined) return null;
  return {
    text,
    enclosed: [...(title === undefined ? [] : [{ kind: "post" as const, words: [title] }]), ...enclosed],
    attachments,
  };
}

/**
 * True for a server's message without any visible content, which is what bots without the message content
 * intent get.
 */
export function isHidden(message: APIMessage): boolean {
  const parts = [
    message.attachments,
    message.embeds,
    message.components,
    message.sticker_items,
    message.message_snapshots,
  ];
  return (
    message.content === "" && message.poll === undefined && parts.every((list) => (list?.length ?? 0) === 0)
  );
}

/**
 * The text of a program's embeds, whose message text is often empty. Embeds of a person are link previews.
 */
function framed(embeds: readonly APIEmbed[] | undefined): Enclosed[] {
  return (embeds ?? []).flatMap(({ type, title, description, fields = [] }): Enclosed[] => {
    if (type !== undefined && (type as string) !== "rich") return [];
    const words = [title, description, ...fields.map(({ name, value }) => `${name}: ${value}`)].filter(
      (each) => each !== undefined,
    );
    return words.length === 0 ? [] : [{ kind: "embed", words }];
  });
}

/** Content other than text and files. */
function described(message: Partial<APIMessage> | APIMessageSnapshotFields): Enclosed[] {
  const found = (message.sticker_items ?? []).map((sticker): Enclosed => ({
    kind: "sticker",
    words: [sticker.name],
  }));
  const isOfPerson = "author" in message && message.author?.bot !== true && message.webhook_id === undefined;
  if (!isOfPerson) found.push(...framed(message.embeds));
  const poll = "poll" in message ? message.poll : undefined;
  if (poll === undefined) return found;
  const answers = poll.answers.map(({ poll_media: { text } }) => text ?? "");
  return [...found, { kind: "poll", words: [poll.question.text ?? "", ...answers] }];
}

/** Longest name inserted in place of an id, in UTF-16 units. */
const nameChars = 64;

/**
 * Replaces ids with the names that people see, on one line. A leading mention of the bot is dropped, because
 * it only addressed it.
 */
function spoken(
  content: string,
  mentions: readonly APIUser[],
  me: { readonly id: string },
  nameOf: NameOf,
): string {
  const names = new Map(mentions.map((user) => [user.id, userName(user)]));
  const people: NameOf = (id) => names.get(id);
  const called = new RegExp(`^\\s*<@!?${me.id}>[\\s,:]*`).exec(content)?.[0].length ?? 0;
  const rest = content.slice(called);
  const shown = (rest === "" ? content : rest).replace(
    /<(@!?|@&|#)(\d+)>/g,
    (whole, sign: string, id: string) => {
      const name = (sign === "#" || sign === "@&" ? nameOf : people)(id);
      return name === undefined ? whole : `${sign.charAt(0)}${label(name, nameChars)}`;
    },
  );
  return shown.replace(/<a?(:\w+:)\d+>/g, "$1");
}

export function userName(
  user: Pick<APIUser, "id"> & Partial<Pick<APIUser, "username" | "global_name">>,
  nick?: string | null,
): string {
  return nick ?? user.global_name ?? user.username ?? user.id;
}

function attachmentOf(file: APIAttachment, message: APIMessage, isVoice: boolean): Attachment {
  const mediaType = file.content_type?.split(";")[0];
  const [family = ""] = (mediaType ?? "").split("/");
  const kind = isVoice
    ? "voice"
    : family === "image" || family === "video" || family === "audio"
      ? family
      : "file";
  return {
    kind,
    ref: formatFileRef({ channel: message.channel_id, message: message.id, file: file.id, url: file.url }),
    name: file.filename,
    ...(Number.isSafeInteger(file.size) && file.size >= 0 ? { bytes: file.size } : {}),
    ...(mediaType === undefined ? {} : { mediaType }),
    ...(typeof file.duration_secs === "number" ? { seconds: file.duration_secs } : {}),
    ...(typeof file.description === "string" ? { description: file.description } : {}),
  };
}

/** A file's address is signed for a day; fetching its message gives a fresh one. */
export interface FileRef {
  readonly channel: string;
  readonly message: string;
  readonly file: string;
  readonly url: string;
}

export function formatFileRef({ channel, message, file, url }: FileRef): string {
  return JSON.stringify([channel, message, file, url]);
}

/** Null for a text that is not one of our references. */
export function parseFileRef(ref: string): FileRef | null {
  try {
    const value: unknown = JSON.parse(ref);
    if (!Array.isArray(value) || value.length !== 4 || !value.every((part) => typeof part === "string"))
      return null;
    const [channel = "", message = "", file = "", url = ""] = value as string[];
    return { channel, message, file, url };
  } catch {
    return null; // Not one of ours.
  }
}
