// What the rest of Parley reads of models.providers.*. Nothing is filled in here but lists: what is absent, the models package knows better.
import type { Secret } from "./secret.ts";

export type ProviderApi =
  | "openai-completions"
  | "openai-responses"
  | "anthropic-messages"
  | "google-generative-ai"
  | "ollama";

/** What is absent, the models package fills from what it knows about the provider's name and the model's id. */
export interface ProviderConfig {
  readonly api?: ProviderApi;
  readonly baseUrl?: string;
  readonly apiKey?: Secret;
  readonly headers?: { readonly [name: string]: Secret };
  readonly timers?: {
    readonly connectSeconds?: number;
    readonly firstTokenSeconds?: number;
    readonly idleSeconds?: number;
    readonly totalSeconds?: number;
  };
  /** Empty: any id is allowed. */
  readonly models: readonly ModelConfig[];
}

export interface ModelConfig {
  readonly id: string;
  readonly contextWindow?: number;
  readonly maxTokens?: number;
  readonly input?: readonly ("text" | "image")[];
  readonly reasoning?: boolean;
  readonly compat?: { readonly supportedReasoningEfforts?: readonly string[] };
  /** US dollars per million tokens. */
  readonly cost?: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead?: number;
    readonly cacheWrite?: number;
  };
}
