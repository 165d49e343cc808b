// One line of a transcript. The transcript only grows (I11); what a model sees is a view made from these.
import type { JsonObject } from "./json.ts";
import type { Usage } from "./usage.ts";

export interface ImageContent {
  readonly type: "image";
  readonly mediaType: string;
  /** Path under the media folder: bytes never enter the transcript. */
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
  /** The provider's signature or encrypted form: handed back unchanged. */
  readonly signature?: string;
}

export type AssistantContent = TextContent | Thinking | ToolCall;

/**
 * Why a model stopped; `error` and `aborted` answers are kept so that history stays true. `length`: its limit of tokens cut it off; `cut`: its
 * provider did, for another reason.
 */
export type StopReason = "stop" | "length" | "cut" | "toolUse" | "error" | "aborted";

export type Entry =
  | {
      readonly type: "user";
      readonly content: readonly (TextContent | ImageContent)[];
      /** Inbound ids that this entry answers for. */
      readonly rows: readonly string[];
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
      readonly atMs: number;
    }
  /** What stands in a view for the entries through `throughSeq`; those after it stay, also where they come before the summary itself. */
  | { readonly type: "summary"; readonly text: string; readonly throughSeq: number; readonly atMs: number }
  /** Shown to people, never to a model: a notice, a command's answer. */
  | { readonly type: "notice"; readonly text: string; readonly atMs: number };

export type UserEntry = Extract<Entry, { type: "user" }>;
export type AssistantEntry = Extract<Entry, { type: "assistant" }>;
export type ToolResultEntry = Extract<Entry, { type: "toolResult" }>;
export type SummaryEntry = Extract<Entry, { type: "summary" }>;
