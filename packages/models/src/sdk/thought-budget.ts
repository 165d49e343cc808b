// Bounds the thinking budget where thoughts and answer share one limit: SDKs set it without regard to the
// limit, which can leave nothing for the answer. The request is corrected after the SDK wrote it, because
// only there both numbers stand.
import type { JsonObject } from "@parley/protocol";

/** `mend` gets the request's body as the SDK wrote it. */
export function mendedFetch(watched: typeof fetch, mend: (body: JsonObject) => JsonObject): typeof fetch {
  return (input, init) => {
    const body = init?.body;
    return watched(
      input,
      typeof body === "string"
        ? { ...init, body: JSON.stringify(mend(JSON.parse(body) as JsonObject)) }
        : init,
    );
  };
}

/** At most half of the limit, and at least the provider's minimum. */
export function budgetWithin(maxTokens: number, budgetTokens: number, leastTokens: number): number {
  return Math.max(leastTokens, Math.min(budgetTokens, Math.floor(maxTokens / 2)));
}
