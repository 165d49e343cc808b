// The options of every provider factory. A factory only describes a model; its SDK loads on the first call.
import type { Clock, Log, ThinkingLevel } from "@parley/protocol";
import type { ModelFacts } from "./known.ts";
import type { ReadImage } from "./sdk/prompt.ts";

/**
 * How long to wait for a silent server, in milliseconds. Comment lines and pings do not count as progress.
 */
export interface ModelTimers {
  /** From the call to the response headers. */
  readonly connectMs: number;
  /** From the headers to the first word, thought or tool call. */
  readonly firstTokenMs: number;
  /** Between two events of the stream, from the first token on. */
  readonly idleMs: number;
  /**
   * From the call to the answer's end, however much arrives in between: a server that drips would otherwise
   * hold a turn for its whole time.
   */
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
  /** The model's name as the provider spells it. */
  readonly modelId: string;
  /** Without a slash at the end. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  readonly headers?: { readonly [name: string]: string } | undefined;
  readonly facts: ModelFacts;
  /**
   * True when the config sets `facts.maxTokens`: it is then sent with every request, even where the server
   * does not need it.
   */
  readonly limited?: boolean;
  /** The levels of thinking that the config declares, as opposed to the built-in table's. */
  readonly declaredThinking?: readonly ThinkingLevel[] | undefined;
  readonly timers?: Partial<ModelTimers> | undefined;
  /** Absent: images are described in words. */
  readonly readImage?: ReadImage | undefined;
  /** A secret of this installation, from which session names for providers are derived. */
  readonly cacheSecret?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}
