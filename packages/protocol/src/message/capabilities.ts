// One record per channel of what its surface can do; drivers, the renderer, the message tool and the prompt
// read it.
import { Fault } from "../fault.ts";

/** Markup that a surface takes. "markdown" passes the text on as the model wrote it, for programs. */
export type Dialect = "telegram" | "discord" | "html" | "plain" | "markdown";

/** Lengths in UTF-16 code units. */
export interface PollLimits {
  readonly questionChars: number;
  readonly fewestOptions: number;
  readonly mostOptions: number;
  readonly optionChars: number;
  /** False where everybody sees who voted for what. */
  readonly anonymous: boolean;
  /** The longest time that one is open. */
  readonly mostHours: number;
}

export interface Capabilities {
  readonly dialect: Dialect;
  /** Longest text of one message, in UTF-16 code units as the platform counts them after rendering. */
  readonly textChars: number;
  /** Longest text beside an attachment, in UTF-16 code units after rendering. */
  readonly captionChars: number;
  /** Most text entities in one message; absent where the platform has no entities. */
  readonly textEntities?: number;
  /** Largest file that can be sent, in bytes. */
  readonly uploadBytes: number;
  /** Largest file that some places take; absent where all are alike. */
  readonly uploadBytesAtMost?: number;
  /** Largest file that can be fetched, in bytes. */
  readonly downloadBytes: number;
  readonly media: boolean;
  /** Most files in one message; absent means no limit. */
  readonly albumFiles?: number;
  /** Most bytes in one message with several files; absent means no limit. */
  readonly albumBytes?: number;
  readonly polls: boolean;
  /** Absent means no limits. */
  readonly pollLimits?: PollLimits;
  readonly voice: boolean;
  /** A message may come without a sound or a banner. */
  readonly silent: boolean;
  /** A conversation may have threads. The action `createThread` opens one. */
  readonly threads: boolean;
  readonly pins: boolean;
  readonly typing: boolean;
  readonly reactions: boolean;
  /** All that can be reactions, without variation selectors (U+FE0F); absent: the platform decides. */
  readonly reactionEmoji?: readonly string[];
  /** Ids of messages are positive whole numbers; absent: any text. */
  readonly numberedMessages?: boolean;
  /** A sent message can be changed, which streaming by edits needs. */
  readonly edits: boolean;
  readonly removals: boolean;
  readonly replyTags: boolean;
  readonly inlineButtons: boolean;
  /** A button may offer choices. */
  readonly menus: boolean;
  /** A button may ask for words in fields. */
  readonly forms: boolean;
  /** The platform shows a send once, however often it is repeated under one idempotency key. */
  readonly idempotentSends: boolean;
}

/**
 * The emoji as the platform writes it. Throws Fault("unsupported") with some that it takes, for one that it
 * does not.
 */
export function plainReaction(
  emoji: string,
  { reactionEmoji }: Pick<Capabilities, "reactionEmoji">,
  platform: string,
): string {
  if (reactionEmoji === undefined) return emoji;
  const plain = emoji.replaceAll("\uFE0F", "");
  if (reactionEmoji.includes(plain)) return plain;
  throw new Fault(
    "unsupported",
    `${platform} does not take ${emoji} as a reaction: use one of ${reactionEmoji.slice(0, 12).join(" ")} ...`,
  );
}
