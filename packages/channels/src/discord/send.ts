// Sends one rendered part as one message: in place of a slash command's "is thinking", as a forum's new post,
// or plainly. Every create has a nonce from its idempotency key, so that Discord shows a repeat within some
// minutes once (I5); later the driver reads our own messages back.
import { createHash } from "node:crypto";
import type { APIMessage } from "discord-api-types/v10";
import {
  type Address,
  type CreateThread,
  Fault,
  isFault,
  type Receipt,
  type RenderedPart,
} from "@parley/protocol";
import type { SendOptions } from "../channel.ts";
import { messagesOf, pageMessages } from "./backfill.ts";
import { payloadOf, reference, said, type Said } from "./body.ts";
import { discordCapabilities, nonceChars } from "./capabilities.ts";
import type { Forms } from "./interactions/forms.ts";
import type { Interactions } from "./interactions/interactions.ts";
import { isForum, type Place, type Places } from "./places.ts";
import { isDiscordBlank, isRefusal, refusalCode, refusalCodes } from "./refusals.ts";
import { isSnowflake, madeAtMs, namesTime } from "./snowflake.ts";
import { openPost, type ThreadContext, threadsSince, titleCut, uploadLimit } from "./threads.ts";
import { isVoiceRefused, voiceFields } from "./voice.ts";
import type { Self } from "./resume-state.ts";

export interface SendContext extends ThreadContext {
  readonly interactions: Interactions;
  readonly forms: Forms;
  /** The bot's own ids; null before the first session. */
  readonly self: () => Self | null;
}

export async function sendPart(
  context: SendContext,
  to: Address,
  part: RenderedPart,
  options: SendOptions,
): Promise<Receipt> {
  const { rest, places, interactions } = context;
  const { signal, idempotencyKey, answers = [], mayHaveArrived = false } = options;
  if (signal.aborted) throw new Fault("aborted", "the send was aborted before it began");
  const message = said(part, context);
  if (part.kind === "text" && part.buttons !== undefined) await context.forms.keep(part.buttons);
  const open = answers.length === 0 ? null : await interactions.take(answers, idempotencyKey, mayHaveArrived);
  // What may stand there as a message is repeated under its nonce, and the command waits for nothing more.
  if (open === null && mayHaveArrived) void interactions.settle(answers);
  if (open !== null) {
    const payload = await payloadOf(
      message.json,
      message.files,
      context.mediaFolder,
      discordCapabilities.uploadBytes,
    );
    const filled = await interactions.fill(open, payload, signal).catch((error: unknown) => {
      // What stands behind it would be shown to all and leave "is thinking" as it is: the answer ends.
      if (isDiscordBlank(error)) throw new Fault("invalid", (error as Fault).message);
      throw error;
    });
    if (filled !== null) {
      void interactions.endOthers(answers, open);
      return { ...receipt(filled), ...(open.quiet === true ? { extra: { quiet: open.event } } : {}) };
    }
  }
  const quiet = options.follows?.extra?.["quiet"];
  if (typeof quiet === "string") {
    const json = { ...message.json, flags: flagsOf(message.json) | ephemeral };
    const payload = await payloadOf(
      json,
      message.files,
      context.mediaFolder,
      discordCapabilities.uploadBytes,
    );
    const followed = await interactions.follow(quiet, payload, signal);
    if (followed !== null) return { ...receipt(followed), extra: { quiet } };
  }
  const { place, channel } = await destination(places, to, options.follows, signal);
  // A forum takes no bare messages, so the text opens a post and its first line is the title.
  if (place !== null && isForum(place.type))
    return openPost(context, place, { name: titleOf(part) }, message, signal);
  const limitBytes = await uploadLimit(places, place, message.files);
  const voice = part.kind === "voice" ? await voiceFields(part, context.mediaFolder) : null;
  const create = async (more: object): Promise<Receipt> => {
    const json = { ...message.json, ...more, nonce: nonceOf(idempotencyKey), enforce_nonce: true };
    const payload = await payloadOf(json, message.files, context.mediaFolder, limitBytes);
    return receipt(
      await rest.call({ method: "POST", route: `/channels/${channel}/messages`, ...payload, signal }),
    );
  };
  const quote = reference(part.replyTo);
  // When a message cannot be quoted (another channel's, a system message), the answer is sent without it.
  const plain = "message_reference" in quote ? [quote, {}] : [quote];
  const attempts = voice === null ? plain : [...plain.map((form) => ({ ...form, ...voice })), ...plain];
  return firstTaken(attempts, create);
}

/** Goes on to the next form while Discord refuses what is special about this one; nothing was sent then. */
async function firstTaken(
  [form = {}, ...others]: readonly object[],
  create: (form: object) => Promise<Receipt>,
): Promise<Receipt> {
  try {
    return await create(form);
  } catch (error) {
    const isSpecial =
      ("flags" in form && isVoiceRefused(error)) || ("message_reference" in form && isAboutQuote(error));
    if (!isSpecial || others.length === 0) throw error;
    return firstTaken(others, create);
  }
}

const ephemeral = 1 << 6;

function flagsOf({ flags }: Readonly<Record<string, unknown>>): number {
  return typeof flags === "number" ? flags : 0;
}

function isAboutQuote(error: unknown): boolean {
  if (isRefusal(error, "unknownMessage", "replyWithoutHistory")) return true;
  return refusalCode(error) === refusalCodes.invalidForm && /message_reference|REPLIES_/.test(String(error));
}

/** At most 25 characters, the same for the same send. */
function nonceOf(idempotencyKey: string): string {
  return createHash("sha256").update(idempotencyKey).digest("base64url").slice(0, nonceChars);
}

/** The rest of an answer that opened a post goes into that post. */
async function destination(
  places: Places,
  to: Address,
  follows: Receipt | undefined,
  signal: AbortSignal,
): Promise<{ readonly channel: string; readonly place: Place | null }> {
  const thread = to.thread === undefined ? follows?.extra?.["thread"] : undefined;
  if (isSnowflake(thread)) return { channel: thread, place: null };
  const channel = await places.target(to, signal);
  // Private chats and threads need no look-up; only a channel may turn out to be a forum. Without its server
  // nothing can be asked.
  if (to.kind === "dm" || to.thread !== undefined) return { channel, place: null };
  return { channel, place: await places.look(channel) };
}

function titleOf(part: RenderedPart): string {
  const words = plainOf(part);
  const line =
    words
      .split("\n")
      .find((each) => each.trim() !== "")
      ?.trim() ?? "Post";
  return titleCut(line);
}

function plainOf(part: RenderedPart): string {
  switch (part.kind) {
    case "text":
      return part.plain;
    case "media":
      return part.caption?.plain ?? part.files[0]?.name ?? "";
    case "voice":
      return part.file.name;
    case "poll":
      return part.question;
  }
}

/** Our own messages with the same content since then; null where the bot may not read, or not that far. */
export async function sentSince(
  context: SendContext,
  to: Address,
  sent: RenderedPart | CreateThread,
  sinceMs: number,
  signal: AbortSignal,
): Promise<readonly Receipt[] | null> {
  const { rest, places } = context;
  const { channel, place } = await destination(places, to, undefined, signal);
  const me = context.self()?.user;
  if (me === undefined) throw new Fault("unavailable", "who we are is not known yet");
  try {
    if (sent.kind === "createThread") return await openedSince(context, channel, me, sent, sinceMs, signal);
    if (place !== null && isForum(place.type))
      return await threadsSince(rest, place, me, titleOf(sent), sinceMs, signal);
    const found: APIMessage[] = [];
    let isWhole = false;
    for (let pages = 0; pages < mostPages && !isWhole; pages++) {
      const oldest = found.at(-1)?.id;
      const page = await messagesOf<APIMessage>(
        rest,
        channel,
        oldest === undefined ? null : { before: oldest },
        signal,
      );
      found.push(...page);
      isWhole = page.length < pageMessages || page.some((each) => writtenAtMs(each) < sinceMs);
    }
    const message = said(sent, context);
    const same = found
      .filter((each) => each.author?.id === me && writtenAtMs(each) >= sinceMs && isSame(each, message))
      .toSorted((a, b) => byAge(a.id, b.id))
      .map(({ id }) => ({ messageId: id }));
    // It may stand further back than was read.
    return same.length === 0 && !isWhole ? null : same;
  } catch (error) {
    if (isFault(error, "denied") || isFault(error, "missing")) return null;
    throw error;
  }
}

/** Threads as their opening's receipt names them: a forum's post took its first message along. */
async function openedSince(
  { rest, places }: SendContext,
  channel: string,
  me: string,
  { title }: CreateThread,
  sinceMs: number,
  signal: AbortSignal,
): Promise<readonly Receipt[] | null> {
  const place = await places.look(channel);
  const found = await threadsSince(rest, place, me, titleCut(title), sinceMs, signal);
  if (found === null || !isForum(place.type)) return found;
  return found.map((receipt) => ({ ...receipt, extra: { ...receipt.extra, opened: true } }));
}

const mostPages = 5;

/** An id without a time counts as new, because checking a message is better than sending it twice. */
function writtenAtMs({ id, timestamp }: APIMessage): number {
  const said = Date.parse(timestamp);
  return Number.isNaN(said) ? (namesTime(id) ? madeAtMs(id) : Number.POSITIVE_INFINITY) : said;
}

function byAge(a: string, b: string): number {
  return BigInt(a) < BigInt(b) ? -1 : 1;
}

/** Compared trimmed, because Discord trims what it stores. */
function isSame(message: object, { json, files }: Said): boolean {
  const { content: text = "", poll } = json as {
    readonly content?: string;
    readonly poll?: { readonly question: { readonly text: string } };
  };
  // Whatever a server tells of a message of ours, the answer that it is compared with must not be lost.
  const { content: shown, attachments, poll: asked } = message as Readonly<Record<string, unknown>>;
  const sizes = (Array.isArray(attachments) ? attachments : []).map(
    (file: unknown) => (file as { readonly size?: unknown } | null)?.size,
  );
  const { question } = (asked ?? {}) as { readonly question?: { readonly text?: unknown } | null };
  return (
    (typeof shown === "string" ? shown : "").trim() === text.trim() &&
    question?.text === poll?.question.text &&
    sizes.length === files.length &&
    files.every((file, index) => file.bytes === sizes[index])
  );
}

function receipt(message: unknown): Receipt {
  const { id } = (message ?? {}) as { readonly id?: unknown };
  if (!isSnowflake(id)) throw new Fault("ambiguous", "Discord accepted the message without naming it");
  return { messageId: id };
}
