// The headers of requests that are sent without an SDK, and ids for calls that a server did not name.
import { version, type Clock } from "@parley/protocol";
import type { ProviderOptions } from "../provider.ts";

/** The config's own headers win, whatever their case. */
export function wireHeaders(
  { apiKey, headers = {} }: Pick<ProviderOptions, "apiKey" | "headers">,
  own: { readonly [name: string]: string } = apiKey === undefined
    ? {}
    : { authorization: `Bearer ${apiKey}` },
): { readonly [name: string]: string } {
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    "content-type": "application/json",
    accept: "*/*",
    "user-agent": `parley/${version}`,
    ...own,
    ...Object.fromEntries(lowered),
  };
}

/** Unlike each other within one answer, and unlike those of the session's other answers. */
export function callIds(clock: Pick<Clock, "now">): () => string {
  let count = 0;
  return () => `call_${Math.floor(clock.now()).toString(36)}_${(count += 1)}`;
}
