// What was written while Parley was down for long: such messages wait for each other, so that a day's backlog is one turn of a chat,
// and the agent is told that they are old.
import type { Inbound } from "@parley/protocol";

const awayAfterMs = 2 * 3_600_000;

/** Quiet time in which the batches of a backlog arrive; platforms hand it out in pieces of about a hundred. */
export const backlogQuietMs = 1_500;

/** `acceptedAtMs` is left out for what arrives just now. Presses and edits carry the time of an older message, so they never count. */
export function isBacklog(
  inbound: Pick<Inbound, "kind" | "atMs">,
  bootAtMs: number,
  acceptedAtMs = Infinity,
): boolean {
  const isTalk = inbound.kind === "message" || inbound.kind === "command";
  return Math.min(acceptedAtMs, isTalk ? inbound.atMs : Infinity) < bootAtMs - awayAfterMs;
}
