// One event from a platform, normalized: what every channel hands to `receive` and every durable row carries.
import { z } from "zod";
import { addressSchema } from "./address.ts";

export const attachmentSchema = z.object({
  kind: z.enum(["image", "video", "audio", "voice", "file", "sticker"]),
  /** What the driver needs to fetch the bytes later; opaque elsewhere. */
  ref: z.string(),
  name: z.string().optional(),
  mediaType: z.string().optional(),
  /** As the platform states it; checked again while downloading. */
  bytes: z.number().int().nonnegative().optional(),
  seconds: z.number().nonnegative().optional(),
  /** What the platform says about it in words: a sticker's emoji, for instance. */
  description: z.string().optional(),
});

/** What comes along with a message and is not its sender's own words. */
export const enclosedSchema = z.object({
  kind: z.enum([
    "forward",
    "venue",
    "location",
    "contact",
    "poll",
    "dice",
    "sticker",
    "embed",
    "post",
    "unsupported",
  ]),
  /** Whose words were passed on, by name. */
  from: z.string().optional(),
  /** As the platform tells them: a forward's text; title and address; question and answers. */
  words: z.array(z.string()),
});

export const inboundSchema = z.object({
  /** `<channel>:<account>:<platform event id>`: the first dedupe guard. */
  id: z.string().min(1),
  channel: z.string().min(1),
  account: z.string().min(1),
  address: addressSchema,
  sender: z.object({
    id: z.string().min(1),
    name: z.string(),
    isBot: z.boolean(),
    roles: z.array(z.string()).optional(),
  }),
  /** The platform's message id; with `editedAtMs` the second dedupe guard. */
  messageId: z.string().min(1),
  /** Whose ids these are, where the account was another bot before; absent for its first one. */
  bot: z.string().min(1).optional(),
  kind: z.enum(["message", "edit", "reaction", "callback", "command"]),
  /** The sender's own words. */
  text: z.string(),
  attachments: z.array(attachmentSchema),
  enclosed: z.array(enclosedSchema).optional(),
  replyTo: z
    .object({
      messageId: z.string(),
      text: z.string().optional(),
      sender: z.string().optional(),
      /** The quoted message is ours. */
      toBot: z.boolean(),
    })
    .optional(),
  /** Ids of those mentioned, exact entities only. */
  mentions: z.array(z.string()),
  /** The message is meant for the bot: a DM, an exact mention, a reply to it, a command to it. */
  addressed: z.boolean(),
  /** Groups parts of one utterance: an album's id. */
  groupId: z.string().optional(),
  /** A callback's answer token and value. */
  callback: z.object({ id: z.string(), value: z.string() }).optional(),
  /** Guild of a Discord message: routing matches on it. */
  guild: z.string().optional(),
  /** Conversation that a thread hangs under, for policy and routing inheritance. */
  parent: z.string().optional(),
  /** When the platform says it was sent. */
  atMs: z.number(),
  editedAtMs: z.number().optional(),
});

export type Attachment = z.infer<typeof attachmentSchema>;
export type Enclosed = z.infer<typeof enclosedSchema>;
export type Inbound = z.infer<typeof inboundSchema>;
export type Sender = Inbound["sender"];

/** An event that could not be normalized: it becomes a dead row for the operator, and is acknowledged like any other. */
export interface Unreadable {
  readonly kind: "unreadable";
  /** `<channel>:<account>:<platform event id>`, as in `Inbound`. */
  readonly id: string;
  readonly channel: string;
  readonly account: string;
  /** The event as the platform sent it: JSON text, cut by the driver where it is long. */
  readonly raw: string;
  readonly reason: string;
  /** Where it came from, as far as it tells: then its sender is told that it was not understood. */
  readonly from?: Pick<Inbound, "address" | "sender">;
}

/** The message in words for people who look at it: its own, and what came along. */
export function wordsOf({ text, enclosed = [] }: Pick<Inbound, "text" | "enclosed">): string {
  const along = enclosed.map(
    ({ kind, from, words }) =>
      `[${[kind, ...(from === undefined ? [] : [from])].join(" from ")}] ${words.join(", ")}`,
  );
  return [text, ...along].filter((line) => line !== "").join("\n");
}

/** People took messages back. What still waits is not answered; a turn that has begun goes on. */
export interface Deletion {
  readonly kind: "deletion";
  /** As in `Inbound`. */
  readonly id: string;
  readonly channel: string;
  readonly account: string;
  /** Ids of the `Inbound`s that the messages came as. */
  readonly messages: readonly string[];
}

/** What a channel tells the gateway. */
export type ChannelEvent = Inbound | Unreadable | Deletion;
