// Tracks one interaction: three seconds to answer, and a token that lives for fifteen minutes. It reads both
// from the clock and runs no timer.
import type { Clock } from "@parley/protocol";
import type { Interaction } from "./model.ts";

/** Discord's documentation, "Receiving and Responding to Interactions". */
const answerWithinMs = 3_000;
export const tokenLifeMs = 15 * 60_000;

export function interactionState(
  interaction: Interaction,
  clock: Clock,
): "waiting" | "deferred" | "answered" | "failed" {
  if (interaction.response !== null) return interaction.isDeferred ? "deferred" : "answered";
  return clock.now() - interaction.atMs > answerWithinMs ? "failed" : "waiting";
}
