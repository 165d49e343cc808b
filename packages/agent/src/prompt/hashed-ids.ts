// Hashes sender ids for prompts that go to a provider: recognisable to the agent, useless to a reader of the
// provider's logs.
import { createHmac } from "node:crypto";

const shownHexChars = 12;

/**
 * Keyed, because a platform's ids are few enough to try them all. The key must not change, or the stable zone
 * would (I12).
 */
export function hashedIds(ids: readonly string[], key: string): string[] {
  return ids.map((id) => createHmac("sha256", key).update(id).digest("hex").slice(0, shownHexChars));
}
