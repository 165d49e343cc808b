// Turns the body of a create or an edit into a message as people see it. It checks the rules for content,
// files, components and mentions that Discord's API description leaves out, with the server's own codes.
import {
  type APIAttachment,
  type APIMessage,
  MessageFlags,
  MessageReferenceType,
  MessageType,
} from "discord-api-types/v10";
import { type AllowedMentions, mentionsIn } from "../mentions.ts";
import type { Channel } from "../model.ts";
import type { RouteCall } from "./call.ts";
import { checkComponents } from "./components.ts";
import { badField, refuse } from "./refusal.ts";

/**
 * The limit for bots; the description's 4000 are for paying people. Counted in UTF-16 units, the stricter
 * way.
 */
const maxContentChars = 2_000;
const maxEmbedChars = 6_000;
/** By boost tier, beside what the options say of unboosted guilds. */
const tierBytes: { readonly [tier: number]: number } = { 2: 50 * 2 ** 20, 3: 100 * 2 ** 20 };
const keptFlags =
  MessageFlags.SuppressEmbeds |
  MessageFlags.SuppressNotifications |
  MessageFlags.IsVoiceMessage |
  MessageFlags.IsComponentsV2;

export interface MessageBody {
  readonly content?: string | null;
  readonly embeds?: readonly { readonly [field: string]: unknown }[] | null;
  readonly allowed_mentions?: AllowedMentions | null;
  readonly components?: readonly any[] | null;
  readonly flags?: number | null;
  readonly attachments?:
    | readonly {
        readonly id: string | number;
        readonly filename?: string;
        readonly description?: string;
        readonly duration_secs?: number;
        readonly waveform?: string;
      }[]
    | null;
  readonly message_reference?: MessageReference | null;
  readonly nonce?: string | number | null;
  readonly enforce_nonce?: boolean | null;
  readonly sticker_ids?: readonly string[] | null;
  readonly poll?: unknown;
  readonly tts?: boolean | null;
}

interface MessageReference {
  readonly type?: number;
  readonly message_id: string;
  readonly channel_id?: string;
  readonly fail_if_not_exists?: boolean;
}

type Shaped = Partial<APIMessage>;

/** The fields of a new message. Throws DiscordRefusal. */
export function composed(
  call: RouteCall,
  channel: Channel,
  body: MessageBody,
  prefix: readonly string[] = [],
): Shaped {
  const flags = (body.flags ?? 0) & keptFlags;
  const content = contentOf(body, prefix);
  checkComponents(body.components ?? [], flags, prefix);
  if ((flags & MessageFlags.IsVoiceMessage) !== 0) checkVoice(call, channel, body, content);
  const attachments = attached(call, channel, body, [], prefix);
  const fields: Shaped = {
    content,
    embeds: embedsOf(body, prefix),
    components: [...(body.components ?? [])] as NonNullable<APIMessage["components"]>,
    attachments,
    flags,
    tts: body.tts === true,
    ...(body.nonce === undefined || body.nonce === null ? {} : { nonce: body.nonce }),
    ...(body.poll === undefined || body.poll === null
      ? {}
      : { poll: body.poll as NonNullable<APIMessage["poll"]> }),
    ...referenceOf(call, channel, body.message_reference),
  };
  const isEmpty =
    content === "" &&
    [fields.embeds, fields.components, attachments, body.sticker_ids].every(
      (list) => (list ?? []).length === 0,
    );
  if (isEmpty && fields.poll === undefined && fields.message_snapshots === undefined) throw refuse("empty");
  if ((flags & MessageFlags.IsComponentsV2) !== 0 && (content !== "" || fields.embeds?.length !== 0))
    throw legacyFields(content === "" ? "embeds" : "content", prefix);
  return {
    ...fields,
    ...mentionsIn(call.state, channel, content, body.allowed_mentions, fields.referenced_message?.author),
  };
}

/** The fields that an edit changes. What the body leaves out stays. */
export function recomposed(
  call: RouteCall,
  channel: Channel,
  message: APIMessage,
  body: MessageBody,
): Shaped {
  const flags =
    body.flags === undefined || body.flags === null
      ? (message.flags ?? 0)
      : ((message.flags ?? 0) & ~MessageFlags.SuppressEmbeds) | (body.flags & keptFlags);
  if (body.components !== undefined) checkComponents(body.components ?? [], flags, []);
  const isVoice = ((message.flags ?? 0) & MessageFlags.IsVoiceMessage) !== 0;
  if (isVoice && (body.content ?? "") !== "") throw refuse("voiceEdited");
  const changed: Shaped = {
    flags,
    ...(body.content === undefined
      ? {}
      : {
          content: contentOf(body, []),
          ...mentionsIn(
            call.state,
            channel,
            body.content ?? "",
            body.allowed_mentions,
            message.referenced_message?.author,
          ),
        }),
    ...(body.embeds === undefined ? {} : { embeds: embedsOf(body, []) }),
    ...(body.components === undefined
      ? {}
      : { components: [...(body.components ?? [])] as NonNullable<APIMessage["components"]> }),
    ...(body.attachments === undefined && call.files.length === 0
      ? {}
      : { attachments: attached(call, channel, body, message.attachments, []) }),
  };
  const after = { ...message, ...changed };
  const isEmpty =
    after.content === "" &&
    [after.embeds, after.components ?? [], after.attachments].every((list) => list.length === 0);
  if (isEmpty && after.poll === undefined) throw refuse("empty");
  return changed;
}

const mostWaveformPoints = 256;

/** A voice message is one audio file with its length and waveform, and nothing else. */
function checkVoice(call: RouteCall, channel: Channel, body: MessageBody, content: string): void {
  if (channel.denied.has("voice")) throw refuse("voiceForbidden");
  const others = [body.embeds, body.components, body.sticker_ids].some((list) => (list ?? []).length > 0);
  if (content !== "" || others || (body.poll ?? null) !== null) throw refuse("voiceWithContent");
  const [file, ...more] = call.files;
  if (file === undefined || more.length > 0 || !file.file.mediaType.startsWith("audio/"))
    throw refuse("voiceWithoutAudio");
  const [facts] = body.attachments ?? [];
  const points = Buffer.from(facts?.waveform ?? "", "base64").length;
  if (typeof facts?.duration_secs !== "number" || points < 1 || points > mostWaveformPoints)
    throw refuse("voiceWithoutFacts");
}

function contentOf(body: MessageBody, prefix: readonly string[]): string {
  const content = body.content ?? "";
  if (content.length > maxContentChars)
    throw badField(
      [...prefix, "content"],
      "BASE_TYPE_MAX_LENGTH",
      `Must be ${maxContentChars} or fewer in length.`,
    );
  // The real server keeps no white space around a text.
  return content.trim();
}

function embedsOf(body: MessageBody, prefix: readonly string[]): APIMessage["embeds"] {
  const embeds = body.embeds ?? [];
  const texts = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? Object.entries(value).reduce(
          (sum, [key, inner]) =>
            sum + (countedOfEmbeds.has(key) && typeof inner === "string" ? inner.length : texts(inner)),
          0,
        )
      : 0;
  if (texts(embeds) > maxEmbedChars)
    throw badField(
      [...prefix, "embeds"],
      "MAX_EMBED_SIZE_EXCEEDED",
      `Embed size exceeds maximum size of ${maxEmbedChars}`,
    );
  return embeds.map((embed) => ({ type: "rich", ...embed })) as unknown as APIMessage["embeds"];
}

const countedOfEmbeds = new Set(["title", "description", "name", "value", "text"]);

/** New files and, in an edit, the old ones that `attachments` still names. */
function attached(
  call: RouteCall,
  channel: Channel,
  body: MessageBody,
  before: readonly APIAttachment[],
  prefix: readonly string[],
): APIAttachment[] {
  const { state, files, options } = call;
  const limit = tierBytes[channel.guild?.tier ?? 0] ?? options.uploadBytes;
  if (files.some(({ file }) => file.bytes.length > limit)) throw refuse("tooLarge");
  if (files.length > 10)
    throw badField([...prefix, "attachments"], "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
  const kept = (body.attachments ?? before).flatMap((entry, index) => {
    const old = before.find((attachment) => attachment.id === String(entry.id));
    if (old !== undefined) return [old];
    if (files.some((upload) => String(upload.index) === String(entry.id))) return [];
    throw badField(
      [...prefix, "attachments", index, "id"],
      "ATTACHMENT_NOT_FOUND",
      `No uploaded file found for attachment ${entry.id}`,
    );
  });
  const uploaded = files.map(({ index, file }) => {
    const entry = body.attachments?.find((candidate) => String(candidate.id) === String(index));
    const name = (entry?.filename ?? file.name).replaceAll(/[^\w.-]+/g, "_");
    return state.addFile(
      channel,
      { ...file, name },
      {
        ...(entry?.description === undefined ? {} : { description: entry.description }),
        ...(entry?.duration_secs === undefined ? {} : { duration_secs: entry.duration_secs }),
        ...(entry?.waveform === undefined ? {} : { waveform: entry.waveform }),
      },
    );
  });
  return [...kept, ...uploaded];
}

function referenceOf(
  call: RouteCall,
  channel: Channel,
  reference: MessageReference | null | undefined,
): Shaped {
  if (reference === undefined || reference === null) return {};
  const from = call.state.channels.get(reference.channel_id ?? channel.id);
  const quoted = from?.messages.get(reference.message_id);
  const where = {
    message_id: reference.message_id,
    channel_id: from?.id ?? channel.id,
    ...(from?.guild === undefined ? {} : { guild_id: from.guild.id }),
  };
  if (reference.type === MessageReferenceType.Forward) {
    if (quoted === undefined) throw refuse("unknownMessage");
    return {
      message_reference: { type: MessageReferenceType.Forward, ...where },
      message_snapshots: [{ message: quoted }] as unknown as NonNullable<APIMessage["message_snapshots"]>,
    };
  }
  if (quoted === undefined || from !== channel) {
    if (reference.fail_if_not_exists === false) return {};
    throw badField(["message_reference"], "REPLIES_UNKNOWN_MESSAGE", "Unknown message");
  }
  if (![MessageType.Default, MessageType.Reply, MessageType.ChatInputCommand].includes(quoted.type))
    throw badField(
      ["message_reference"],
      "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE",
      "Cannot reply to a system message",
    );
  return {
    type: MessageType.Reply,
    message_reference: { type: MessageReferenceType.Default, ...where },
    referenced_message: quoted,
  };
}

function legacyFields(field: string, prefix: readonly string[]): Error {
  return badField(
    [...prefix, field],
    "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
    `The '${field}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2`,
  );
}
