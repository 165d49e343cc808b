// Defines the port that shows a running turn before its commit. It may lose updates and stores nothing, so
// nothing may rely on it.
import type { ConversationKey } from "@parley/protocol";

export interface Progress {
  begin(): void;
  /** Takes the whole visible text so far, as Markdown that may end anywhere. */
  text(turn: string, markdown: string): void;
  /** A call of a tool began or ended. */
  tool(turn: string, call: ToolProgress): void;
  /** The turn ended; no more updates follow. */
  end(): void;
}

export interface ToolProgress {
  readonly call: string;
  readonly tool: string;
  readonly state: "running" | "ok" | "failed";
}

/** Creates the progress of one turn in one conversation. */
export type ShowProgress = (conversation: ConversationKey) => Progress;

export const noProgress: Progress = { begin() {}, text() {}, tool() {}, end() {} };
