// One record per channel of what its surface can do; drivers, the renderer, the message tool and the prompt
// read it.

/** Markup that a surface takes. "markdown" passes the text on as the model wrote it, for programs. */
export type Dialect = "telegram" | "discord" | "html" | "plain" | "markdown";

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
  /** Largest file that can be fetched, in bytes. */
  readonly downloadBytes: number;
  readonly media: boolean;
  /** Most files in one message; absent means no limit. */
  readonly albumFiles?: number;
  readonly polls: boolean;
  readonly voice: boolean;
  readonly threads: boolean;
  readonly typing: boolean;
  readonly reactions: boolean;
  /** A sent message can be changed, which streaming by edits needs. */
  readonly edits: boolean;
  readonly removals: boolean;
  readonly replyTags: boolean;
  readonly inlineButtons: boolean;
  /** The platform shows a send once, however often it is repeated under one idempotency key. */
  readonly idempotentSends: boolean;
}
