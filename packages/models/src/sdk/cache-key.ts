// The session as a provider may know it: always the same word for the same session, and nobody's id. Providers need it to send a conversation
// to the machine that has its prefix in the cache.
import { createHmac } from "node:crypto";
import type { ModelRequest } from "../model.ts";
import type { ProviderOptions } from "../provider.ts";

/** OpenAI refuses keys of more than 64 characters. */
const shownHexChars = 32;

/** Keyed, because a platform's ids are few enough to try them all. */
export function cacheKeyOf(
  { cacheKey }: Pick<ModelRequest, "cacheKey">,
  { cacheSecret = "" }: Pick<ProviderOptions, "cacheSecret">,
): string {
  return createHmac("sha256", `cache key ${cacheSecret}`)
    .update(cacheKey)
    .digest("hex")
    .slice(0, shownHexChars);
}
