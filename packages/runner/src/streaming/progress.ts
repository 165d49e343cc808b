// What a running turn shows before it is committed. Lossy by design: nothing here is durable, and no one may rely on it.
import type { ConversationKey } from "@parley/protocol";

export interface Progress {
  begin(): void;
  /** The visible text so far, whole; Markdown that may end anywhere. */
  text(turn: string, markdown: string): void;
  /** The turn ended; nothing more will be shown. */
  end(): void;
}

/** Makes the progress of one turn in one conversation. */
export type ShowProgress = (conversation: ConversationKey) => Progress;

export const noProgress: Progress = { begin() {}, text() {}, end() {} };
