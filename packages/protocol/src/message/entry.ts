// The entries of a transcript. A transcript only grows (I11); the model sees a view built from it.
import type { JsonObject } from "../json.ts";
import type { Usage } from "../usage.ts";

export interface ImageContent {
  readonly type: "image";
  readonly mediaType: string;
  /** Path under the media folder. The transcript itself never holds bytes. */
  readonly path: string;
}

export interface TextContent {
  readonly type: "text";
  readonly text: string;
}

export interface ToolCall {
  readonly type: "toolCall";
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
}

export interface Thinking {
  readonly type: "thinking";
  readonly text: string;
  /** The provider's signature or encrypted form of the thought, returned to that provider unchanged. */
  readonly signature?: string;
}

export type AssistantContent = TextContent | Thinking | ToolCall;

/**
 * Why a model stopped. `length`: its token limit cut the answer off. `cut`: the provider did, for another
 * reason. `error` and `aborted` answers stay in the history, so that it is true.
 */
export type StopReason = "stop" | "length" | "cut" | "toolUse" | "error" | "aborted";

export type Entry =
  | {
      readonly type: "user";
      readonly content: readonly (TextContent | ImageContent)[];
      /** Inbound ids that this entry answers for. */
      readonly rows: readonly string[];
      /** `<channel>:<id>` of who wrote it, where private chats of several people share a session. */
      readonly by?: readonly string[];
      /** Where text of strangers came from that another session read before it wrote this. */
      readonly untrusted?: string;
      readonly atMs: number;
    }
  | {
      readonly type: "assistant";
      readonly content: readonly AssistantContent[];
      readonly model: string;
      readonly stop: StopReason;
      readonly usage: Usage;
      readonly atMs: number;
    }
  | {
      readonly type: "toolResult";
      readonly callId: string;
      readonly name: string;
      readonly content: readonly (TextContent | ImageContent)[];
      readonly isError: boolean;
      /** Where text of strangers came from that is in it: a host, a search, a server's name. */
      readonly untrusted?: string;
      /** Of a model that the call asked. */
      readonly usage?: Usage;
      readonly atMs: number;
    }
  /**
   * Replaces the entries through `throughSeq` in a view. Later entries stay, even those that stand before the
   * summary.
   */
  | { readonly type: "summary"; readonly text: string; readonly throughSeq: number; readonly atMs: number }
  /** Shown to people and never to a model, for example a notice or a command's answer. */
  | { readonly type: "notice"; readonly text: string; readonly atMs: number };

export type UserEntry = Extract<Entry, { type: "user" }>;
export type AssistantEntry = Extract<Entry, { type: "assistant" }>;
export type ToolResultEntry = Extract<Entry, { type: "toolResult" }>;
export type SummaryEntry = Extract<Entry, { type: "summary" }>;
