// What a surface can do: one record per channel, read by the drivers, the renderer, the message tool and the prompt.

/** How text reaches the platform; "markdown": as it was written, for programs. */
export type Dialect = "telegram" | "discord" | "html" | "plain" | "markdown";

export interface Capabilities {
  readonly dialect: Dialect;
  /** Longest text message, in UTF-16 code units as the platform counts them after rendering. */
  readonly textChars: number;
  /** Longest text beside an attachment, likewise. */
  readonly captionChars: number;
  /** Most text entities in one message; absent where the platform has no such notion. */
  readonly textEntities?: number;
  /** Largest file that can be sent, in bytes. */
  readonly uploadBytes: number;
  /** Largest file that can be fetched, in bytes. */
  readonly downloadBytes: number;
  readonly media: boolean;
  /** Most files of one message; no limit when absent. */
  readonly albumFiles?: number;
  readonly polls: boolean;
  readonly voice: boolean;
  readonly threads: boolean;
  readonly typing: boolean;
  readonly reactions: boolean;
  /** A sent message can be changed: what streaming by edit needs. */
  readonly edits: boolean;
  readonly removals: boolean;
  readonly replyTags: boolean;
  readonly inlineButtons: boolean;
  /** A repeat of a send under the same idempotency key is shown once. */
  readonly idempotentSends: boolean;
}
