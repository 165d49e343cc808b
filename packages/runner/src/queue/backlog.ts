// Finds messages written while Parley was down for long. The queue lets them wait for each other, so that a
// day's backlog is one turn of a chat, and the agent is told that they are old.
import type { Inbound } from "@parley/protocol";

const awayAfterMs = 2 * 3_600_000;

/** Quiet time that the queue grants a backlog to arrive; platforms deliver it in pages of about a hundred. */
export const backlogQuietMs = 1_500;

/**
 * Leave `acceptedAtMs` out for a message that arrives just now. Presses and edits carry the time of an older
 * message, so they never count.
 */
export function isBacklog(
  inbound: Pick<Inbound, "kind" | "atMs">,
  bootAtMs: number,
  acceptedAtMs = Infinity,
): boolean {
  const isTalk = inbound.kind === "message" || inbound.kind === "command";
  return Math.min(acceptedAtMs, isTalk ? inbound.atMs : Infinity) < bootAtMs - awayAfterMs;
}
