// One interaction: three seconds to answer, a token that lives for fifteen minutes. Both are read from the clock, nothing ticks.
import type { Clock } from "@parley/protocol";
import type { APIInteractionResponse, APIUser, InteractionType } from "discord-api-types/v10";
import type { Bot, Channel } from "./world.ts";

/** Discord's documentation, "Receiving and Responding to Interactions". */
export const answerWithinMs = 3_000;
export const tokenLifeMs = 15 * 60_000;

export interface Interaction {
  readonly id: string;
  readonly token: string;
  readonly type: InteractionType;
  readonly bot: Bot;
  readonly user: APIUser;
  readonly channel: Channel;
  readonly atMs: number;
  /** The message whose component was used. */
  readonly messageId: string | undefined;
  response: APIInteractionResponse | null;
  /** Set by a deferral (callback types 5 and 6) until the original is edited. */
  isDeferred: boolean;
  /** The message that `@original` means. */
  originalId: string | undefined;
}

export function interactionState(interaction: Interaction, clock: Clock): "waiting" | "deferred" | "answered" | "failed" {
  if (interaction.response !== null) return interaction.isDeferred ? "deferred" : "answered";
  return clock.now() - interaction.atMs > answerWithinMs ? "failed" : "waiting";
}
