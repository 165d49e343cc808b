// How long a message waits for what belongs to it. An ordinary message waits for nothing.
import type { Inbound } from "@parley/protocol";

/**
 * Quiet time in which the parts of an album or of a forwarded batch arrive; Telegram marks no end of either.
 */
const groupQuietMs = 700;
/** A text of this length was probably cut by the app it was pasted into; the rest follows at once. */
const pasteChars = 4_000;
const pasteQuietMs = 1_500;

/** Milliseconds without another part after which the message is whole. */
export function quietMs({ groupId, text }: Pick<Inbound, "groupId" | "text">): number {
  return Math.max(groupId === undefined ? 0 : groupQuietMs, text.length < pasteChars ? 0 : pasteQuietMs);
}
