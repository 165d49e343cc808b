// Computes the cost of a model call. Prices are US dollars per million tokens, as providers publish them. A
// call without a known price has no cost: an unknown price is never shown as zero.
import type { Usage } from "@parley/protocol";

/** US dollars per 1,000,000 tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Default: the input price. */
  readonly cacheRead?: number;
  /** Default: the input price. */
  readonly cacheWrite?: number;
}

const tokensPerPrice = 1_000_000;

/** Returns the usage with `costUsd`, or unchanged where no price is known. */
export function priced(usage: Usage, price: ModelPrice | undefined): Usage {
  if (price === undefined) return usage;
  const costUsd =
    (usage.inputTokens * price.input +
      usage.outputTokens * price.output +
      usage.cacheReadTokens * (price.cacheRead ?? price.input) +
      usage.cacheWriteTokens * (price.cacheWrite ?? price.input)) /
    tokensPerPrice;
  return { ...usage, costUsd };
}
