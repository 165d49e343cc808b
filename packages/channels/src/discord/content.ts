// What a Discord message says: its text with names in place of ids, what stands for content without text, and references to its files.
import type { APIAttachment, APIEmbed, APIMessage, APIMessageSnapshotFields, APIUser } from "discord-api-types/v10";
import type { Attachment } from "@parley/protocol";

export interface Content {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** What a server may leave out of a message. */
export const absentFields = {
  type: 0,
  content: "",
  mentions: [],
  mention_roles: [],
  attachments: [],
  embeds: [],
  edited_timestamp: null,
} as const;

/** Flag of a message that is a recording. */
const voiceMessage = 1 << 13;

/** Null for what carries nothing to answer. `title` is that of the forum post which this message opens. */
export function contentOf(message: APIMessage, me: { readonly id: string }, title?: string): Content | null {
  const own = spoken(message.content, message.mentions, me);
  const forwarded = (message.message_snapshots ?? []).map(({ message: passed }) => `[forwarded]\n${wordsOf(passed, passed.content ?? "")}`);
  const said = [wordsOf(message, own), ...forwarded].filter((words) => words !== "").join("\n\n");
  const attachments = [message, ...(message.message_snapshots ?? []).map((snapshot) => snapshot.message)].flatMap((from) =>
    (from.attachments ?? []).map((file) => attachmentOf(file, message, ((from.flags ?? 0) & voiceMessage) !== 0)),
  );
  const text = title === undefined ? said : `[post: ${title}]\n${said}`;
  return text === "" && attachments.length === 0 ? null : { text, attachments };
}

/** Whether a server's message came without anything that people see: what Discord does to bots without the message content intent. */
export function isHidden(message: APIMessage): boolean {
  const parts = [message.attachments, message.embeds, message.components, message.sticker_items, message.message_snapshots];
  return message.content === "" && message.poll === undefined && parts.every((list) => (list?.length ?? 0) === 0);
}

/** What a program shows in a frame, where its text is often empty. A person's frames are previews of links. */
function framed(embeds: readonly APIEmbed[] | undefined): string[] {
  return (embeds ?? []).flatMap(({ type, title, description, fields = [] }) => {
    if (type !== undefined && (type as string) !== "rich") return [];
    const words = [title, description, ...fields.map(({ name, value }) => `${name}: ${value}`)].filter((each) => each !== undefined);
    return words.length === 0 ? [] : [`[embed: ${words.join("\n")}]`];
  });
}

/** The text with what is described in words: bracketed, so that it reads as a description and not as the person's own. */
function wordsOf({ sticker_items: stickers, ...message }: Partial<APIMessage> | APIMessageSnapshotFields, text: string): string {
  const described = (stickers ?? []).map((sticker) => `[sticker: ${sticker.name}]`);
  const isOfPerson = "author" in message && message.author?.bot !== true && message.webhook_id === undefined;
  if (!isOfPerson) described.push(...framed(message.embeds));
  const poll = "poll" in message ? message.poll : undefined;
  if (poll !== undefined) {
    const answers = poll.answers.map(({ poll_media: { text: answer } }) => answer ?? "");
    described.push(`[poll: ${[poll.question.text ?? "", ...answers].join(" | ")}]`);
  }
  return [text, ...described].filter((words) => words !== "").join("\n");
}

/** Ids become names, as people see them; a leading mention of ours only called us. */
function spoken(content: string, mentions: readonly APIUser[], me: { readonly id: string }): string {
  const names = new Map(mentions.map((user) => [user.id, userName(user)]));
  const called = new RegExp(`^\\s*<@!?${me.id}>[\\s,:]*`).exec(content)?.[0].length ?? 0;
  const rest = content.slice(called);
  const shown = (rest === "" ? content : rest).replace(/<@!?(\d+)>/g, (whole, id: string) => {
    const name = names.get(id);
    return name === undefined ? whole : `@${name}`;
  });
  return shown.replace(/<a?(:\w+:)\d+>/g, "$1");
}

export function userName(user: Pick<APIUser, "id"> & Partial<Pick<APIUser, "username" | "global_name">>, nick?: string | null): string {
  return nick ?? user.global_name ?? user.username ?? user.id;
}

function attachmentOf(file: APIAttachment, message: APIMessage, isVoice: boolean): Attachment {
  const mediaType = file.content_type?.split(";")[0];
  const [family = ""] = (mediaType ?? "").split("/");
  const kind = isVoice ? "voice" : family === "image" || family === "video" || family === "audio" ? family : "file";
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

/** The address of a file is signed for a day; its message gives a fresh one. */
export interface FileRef {
  readonly channel: string;
  readonly message: string;
  readonly file: string;
  readonly url: string;
}

export function formatFileRef({ channel, message, file, url }: FileRef): string {
  return JSON.stringify([channel, message, file, url]);
}

/** Null for what is no reference of ours. */
export function parseFileRef(ref: string): FileRef | null {
  try {
    const value: unknown = JSON.parse(ref);
    if (!Array.isArray(value) || value.length !== 4 || !value.every((part) => typeof part === "string")) return null;
    const [channel = "", message = "", file = "", url = ""] = value as string[];
    return { channel, message, file, url };
  } catch {
    return null; // Not ours.
  }
}
