// One interaction: three seconds to answer, a token that lives for fifteen minutes. Both are read from the
// clock, nothing ticks.
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
