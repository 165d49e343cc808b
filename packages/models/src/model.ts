// What the agent loop asks of a language model: one stream of typed events. Failures are values, never throws.
// In `Usage`, `inputTokens` counts what was neither read from a cache nor written to one, so the prompt's size is the sum of the three.
import type {
  AssistantContent,
  ImageContent,
  JsonObject,
  StopReason,
  TextContent,
  ThinkingLevel,
  Usage,
} from "@parley/protocol";

/** A view of the transcript, as a model reads it: every tool call is paired with a result. */
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
  /** `none`: the tools stay in the request, so that history and cache stay valid, but the model must answer in text. Default `auto`. */
  readonly toolChoice?: "auto" | "none";
  readonly thinking: ThinkingLevel;
  /** Somebody will read the thoughts: they are asked for where they do not come by themselves. */
  readonly showThoughts?: boolean;
  readonly maxTokens?: number;
  /** Stable id of the session, for providers that route their caches by key. */
  readonly cacheKey: string;
}

/** Why a call failed; decides between waiting, falling back and telling the person. */
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
  /** Arguments that were no JSON object: the loop answers them with an error result, it never runs them. */
  | {
      readonly type: "badToolCall";
      readonly id: string;
      readonly name: string;
      readonly raw: string;
      readonly reason: string;
    }
  /** Forget everything that this call streamed so far: the attempt failed after its first words and another one begins. */
  | { readonly type: "discard" }
  /** Always the last event, exactly once. `content` is what may be kept; after an error it is what arrived, without any tool call. */
  | {
      readonly type: "end";
      readonly stop: StopReason;
      readonly usage: Usage;
      readonly content: readonly AssistantContent[];
      readonly error?: ModelError;
      /** Id of the model that answered, where it is not the one that was asked (a fallback). */
      readonly model?: string;
    };

export interface Model {
  /** `<provider>/<model>`, as the config names it. */
  readonly id: string;
  readonly contextWindow: number;
  readonly maxTokens: number;
  readonly vision: boolean;
  readonly reasoning: boolean;
  /** The levels that it takes; see `thinkingLevelsOf`. */
  readonly thinking?: readonly ThinkingLevel[];
  /** Whether its calls have a price; absent: not known to have one. */
  readonly priced?: boolean;
  /** Never throws; ends with one `end` event, also when aborted. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
