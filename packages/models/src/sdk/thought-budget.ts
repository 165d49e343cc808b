// Where thoughts and answer share one limit: an SDK sets the budget of the thoughts without looking at it, and an answer that got nothing of
// it would be empty. The written request is mended on its way out, because only there both numbers stand.
import type { JsonObject } from "@parley/protocol";

/** `mend` gets the request's body as it was written. */
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

/** At most half of the limit, at least what the provider takes. */
export function budgetWithin(maxTokens: number, budgetTokens: number, leastTokens: number): number {
  return Math.max(leastTokens, Math.min(budgetTokens, Math.floor(maxTokens / 2)));
}
