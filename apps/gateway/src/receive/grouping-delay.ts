// Computes how long a message waits for others that belong to it. Ordinary messages do not wait.
import type { Inbound } from "@parley/protocol";

/** Quiet time after which an album or a forwarded batch is complete; Telegram marks the end of neither. */
const groupQuietMs = 700;
/** An app probably cut a text of this length when it was pasted; the rest follows at once. */
const pasteChars = 4_000;
const pasteQuietMs = 1_500;

/** Returns the quiet time, in milliseconds, after which the message is complete. */
export function quietMs({ groupId, text }: Pick<Inbound, "groupId" | "text">): number {
  return Math.max(groupId === undefined ? 0 : groupQuietMs, text.length < pasteChars ? 0 : pasteQuietMs);
}
