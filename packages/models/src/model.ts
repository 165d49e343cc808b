// The model contract of the agent loop: one stream of typed events, in which failures are values and never
// throws. In `Usage`, `inputTokens` counts tokens that were neither read from a cache nor written to one, so
// the prompt's size is the sum of the three.
import type {
  AssistantContent,
  ImageContent,
  JsonObject,
  StopReason,
  TextContent,
  ThinkingLevel,
  Usage,
} from "@parley/protocol";

/**
 * A message of the transcript view that a model reads; every tool call in the view is paired with a result.
 */
export type ModelMessage =
  | { readonly role: "user"; readonly content: readonly (TextContent | ImageContent)[] }
  | { readonly role: "assistant"; readonly content: readonly AssistantContent[] }
  | {
      readonly role: "tool";
      readonly callId: string;
      readonly name: string;
      readonly content: readonly (TextContent | ImageContent)[];
      readonly isError: boolean;
    };

export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object. */
  readonly parameters: JsonObject;
}

export interface ModelRequest {
  /** The system prompt in its two zones; `stable` ends at the cache boundary. */
  readonly system: { readonly stable: string; readonly volatile: string };
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSchema[];
  /**
   * `none` keeps the tools in the request, so that history and cache stay valid, but the model must answer in
   * text. Default `auto`.
   */
  readonly toolChoice?: "auto" | "none";
  readonly thinking: ThinkingLevel;
  /** True when people will read the thoughts; providers that hide them are then asked for them. */
  readonly showThoughts?: boolean;
  readonly maxTokens?: number;
  /** A stable id of the session, for providers that route their caches by key. */
  readonly cacheKey: string;
}

/** Kinds of failure, which decide between waiting, falling back and telling the person. */
export const modelErrorKinds = [
  "rate_limited",
  "overloaded",
  "unavailable",
  "timeout",
  "auth",
  "billing",
  "context_overflow",
  "refused",
  "not_found",
  "invalid",
  "aborted",
  "torn",
] as const;
export type ModelErrorKind = (typeof modelErrorKinds)[number];

export interface ModelError {
  readonly kind: ModelErrorKind;
  readonly message: string;
  readonly status?: number;
  readonly retryAfterMs?: number;
}

export type ModelEvent =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "thinking"; readonly delta: string }
  /** Complete and parsed; a truncated call never appears here. */
  | { readonly type: "toolCall"; readonly id: string; readonly name: string; readonly args: JsonObject }
  /** The arguments were no JSON object; the loop answers with an error result and never runs the call. */
  | {
      readonly type: "badToolCall";
      readonly id: string;
      readonly name: string;
      readonly raw: string;
      readonly reason: string;
    }
  /**
   * Drop everything that this call streamed so far: the attempt failed after its first words and another
   * begins.
   */
  | { readonly type: "discard" }
  /**
   * Always the last event, exactly once. `content` is what may be kept; after an error it is what arrived,
   * without tool calls.
   */
  | {
      readonly type: "end";
      readonly stop: StopReason;
      readonly usage: Usage;
      readonly content: readonly AssistantContent[];
      readonly error?: ModelError;
      /** Id of the model that answered, when it is a fallback. */
      readonly model?: string;
    };

export interface Model {
  /** `<provider>/<model>`, as the config names it. */
  readonly id: string;
  readonly contextWindow: number;
  readonly maxTokens: number;
  readonly vision: boolean;
  readonly reasoning: boolean;
  /** The levels of thinking that it accepts; see `thinkingLevelsOf`. */
  readonly thinking?: readonly ThinkingLevel[] | undefined;
  /** True when its calls have a known price; absent when none is known. */
  readonly priced?: boolean;
  /** Never throws; ends with one `end` event, even when aborted. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
