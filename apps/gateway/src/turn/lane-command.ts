// Commands that keep their place among the messages: /new and /reset begin a new epoch of the session. What stands after the command is
// the first message of the new conversation.
import { parseConversationKey } from "@parley/protocol";
import type { Sessions, Turns } from "@parley/store";
import { parseRowPayload } from "../inbound/row-payload.ts";
import { textDelivery } from "../outbound/notice.ts";
import type { TurnWork } from "./run-lane.ts";

export function laneCommand(turns: Turns, sessions: Sessions): TurnWork {
  return async (turn) => {
    const [row] = turn.rows;
    if (row === undefined) return { afterMs: 0, reason: "an empty turn" };
    const { command } = parseRowPayload(row.payload);
    await sessions.reset(turn.lane as never);
    const answer = "A new conversation. What was said before is kept, but I no longer look at it.";
    await turns.commit(turn, turn.id, {
      outcome: "commanded",
      reason: `/${command?.name ?? ""}`,
      entries: [],
      deliveries: [textDelivery(`${turn.id}/0`, parseConversationKey(turn.conversation), answer, turn.id)],
    });
    return { settled: true };
  };
}
