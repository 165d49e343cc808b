// What every provider factory takes. A factory only describes a model; its SDK loads when the first call is made.
import type { Clock, Log, ThinkingLevel } from "@parley/protocol";
import type { ModelFacts } from "./known.ts";
import type { ReadImage } from "./sdk/prompt.ts";

/** How long a silent server is waited for. Comment lines and pings are not progress. */
export interface ModelTimers {
  /** From the call to the response headers. */
  readonly connectMs: number;
  /** From the headers to the first word, thought or tool call. */
  readonly firstTokenMs: number;
  /** Between two events of the stream, from the first token on. */
  readonly idleMs: number;
  /** From the call to the answer's end, however much comes in between: a server that drips would hold a turn for its whole time. */
  readonly totalMs: number;
}

export const defaultTimers: ModelTimers = {
  connectMs: 10_000,
  firstTokenMs: 120_000,
  idleMs: 60_000,
  totalMs: 600_000,
};

export interface ProviderOptions {
  /** `<provider>/<model>`, as the config names it. */
  readonly id: string;
  /** As the provider spells it. */
  readonly modelId: string;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly facts: ModelFacts;
  /** Somebody set `facts.maxTokens`: it is sent with every request, also where the server would do without. */
  readonly limited?: boolean;
  /** The levels of thinking that the config declares for it, not those of the built-in table. */
  readonly declaredThinking?: readonly ThinkingLevel[];
  readonly timers?: Partial<ModelTimers>;
  /** Absent: images are named in words. */
  readonly readImage?: ReadImage;
  /** Of this installation: what a session is called at a provider is made with it. */
  readonly cacheSecret?: string;
  readonly clock: Clock;
  readonly log: Log;
}
