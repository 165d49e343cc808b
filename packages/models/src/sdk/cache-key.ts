// Derives the name of a session for providers: always the same for one session, and nobody's id. Providers
// use it to route a conversation to the machine that has its cached prefix.
import { createHmac } from "node:crypto";
import type { ModelRequest } from "../model.ts";
import type { ProviderOptions } from "../provider.ts";

/** OpenAI refuses keys of more than 64 characters. */
const shownHexChars = 32;

/** Keyed with a secret, because there are few enough platform ids to try them all. */
export function cacheKeyOf(
  { cacheKey }: Pick<ModelRequest, "cacheKey">,
  { cacheSecret = "" }: Pick<ProviderOptions, "cacheSecret">,
): string {
  return createHmac("sha256", `cache key ${cacheSecret}`)
    .update(cacheKey)
    .digest("hex")
    .slice(0, shownHexChars);
}
