// The session as a provider may know it: always the same word for the same session, and nobody's id. Providers need it to send a conversation
// to the machine that has its prefix in the cache.
import { createHash } from "node:crypto";
import type { ModelRequest } from "../model.ts";

/** OpenAI refuses keys of more than 64 characters. */
const shownHexChars = 32;

export function cacheKeyOf({ cacheKey }: Pick<ModelRequest, "cacheKey">): string {
  return createHash("sha256").update(cacheKey).digest("hex").slice(0, shownHexChars);
}
