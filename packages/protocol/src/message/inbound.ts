// Inbound: one platform event in normalized form. Every channel passes it to `receive`, and every durable row
// carries one.
import { z } from "zod";
import { addressSchema } from "../address.ts";

export const attachmentSchema = z.object({
  kind: z.enum(["image", "video", "audio", "voice", "file", "sticker"]),
  /** The driver's own reference for fetching the bytes later; other code does not read it. */
  ref: z.string(),
  name: z.string().optional(),
  mediaType: z.string().optional(),
  /** Size in bytes as the platform states it; the download checks it again. */
  bytes: z.number().int().nonnegative().optional(),
  seconds: z.number().nonnegative().optional(),
  /** The platform's description, for example a sticker's emoji. */
  description: z.string().optional(),
});

/** Content of a message that is not its sender's own words, for example a forward or a poll. */
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
  /** Name of the person whose words were forwarded. */
  from: z.string().optional(),
  /**
   * The text as the platform gives it: a forward's text, a link's title and address, a poll's question and
   * answers.
   */
  words: z.array(z.string()),
});

export const inboundSchema = z.object({
  /** `<channel>:<account>:<platform event id>`. The store's first guard against duplicates. */
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
  /** The platform's message id. With `editedAtMs` it is the store's second guard against duplicates. */
  messageId: z.string().min(1),
  /**
   * Id of the bot that counts these ids, where the account was another bot before; absent for its first bot.
   */
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
      /** True when the quoted message is one of ours. */
      toBot: z.boolean(),
    })
    .optional(),
  /** Ids of the people mentioned, from exact entities only. */
  mentions: z.array(z.string()),
  /**
   * True when the message is meant for the bot: a direct message, an exact mention, a reply to the bot, or a
   * command to it.
   */
  addressed: z.boolean(),
  /** Shared by messages that belong together, for example an album's id. */
  groupId: z.string().optional(),
  /** The platform's token for answering a pressed button, and the button's value. */
  callback: z.object({ id: z.string(), value: z.string() }).optional(),
  /** A reaction that is a vote, by the poll's options from 0. `poll`: where no message is named. */
  vote: z
    .object({
      poll: z.string().optional(),
      options: z.array(z.number().int().nonnegative()),
      takenBack: z.boolean(),
    })
    .exactOptional(),
  /** Discord guild id; routing rules match on it. */
  guild: z.string().optional(),
  /**
   * Peer id of the conversation that contains this thread; policy and routing rules are inherited from it.
   */
  parent: z.string().optional(),
  /** What people there call the group, channel, topic or thread, where the platform says it. */
  title: z.string().exactOptional(),
  /** When the message was sent according to the platform. */
  atMs: z.number(),
  editedAtMs: z.number().optional(),
});

export type Attachment = z.infer<typeof attachmentSchema>;
export type Enclosed = z.infer<typeof enclosedSchema>;
export type Inbound = z.infer<typeof inboundSchema>;
export type Sender = Inbound["sender"];

/**
 * An event that the driver could not normalize. It becomes a dead row for the operator and is acknowledged
 * like any other.
 */
export interface Unreadable {
  readonly kind: "unreadable";
  /** `<channel>:<account>:<platform event id>`, as in `Inbound`. */
  readonly id: string;
  readonly channel: string;
  readonly account: string;
  /** The event's JSON text as the platform sent it; the driver cuts it to a limit. */
  readonly raw: string;
  readonly reason: string;
  /**
   * Address and sender where the driver could read them; Parley then tells the sender that the message was
   * not understood.
   */
  readonly from?: Pick<Inbound, "address" | "sender">;
}

/** The message as text for people: its own words, then what came along with it. */
export function wordsOf({ text, enclosed = [] }: Pick<Inbound, "text" | "enclosed">): string {
  const along = enclosed.map(
    ({ kind, from, words }) =>
      `[${[kind, ...(from === undefined ? [] : [from])].join(" from ")}] ${words.join(", ")}`,
  );
  return [text, ...along].filter((line) => line !== "").join("\n");
}

/** People deleted messages. Rows that still wait are not answered; a turn that has begun goes on. */
export interface Deletion {
  readonly kind: "deletion";
  /** As in `Inbound`. */
  readonly id: string;
  readonly channel: string;
  readonly account: string;
  /** Ids of the `Inbound`s that carried the deleted messages. */
  readonly messages: readonly string[];
}

/** Any event that a channel passes to the gateway. */
export type ChannelEvent = Inbound | Unreadable | Deletion;
