// Commands that keep their place among the messages: /new and /reset begin a new epoch of the session, /activation says when the agent
// answers in it. A message that stood after /new is a row of its own behind it, and its answer is answer enough.
import { parseConversationKey, type Clock, type SessionKey } from "@parley/protocol";
import type { Sessions, Turns } from "@parley/store";
import { setActivation } from "../commands/activation.ts";
import { messageAfter } from "../inbound/command.ts";
import { beginAnew } from "../inbound/reset-policy.ts";
import { parseRowPayload, type RowPayload } from "../inbound/row-payload.ts";
import { textDelivery } from "../outbound/notice.ts";
import type { TurnWork } from "./run-lane.ts";

export function laneCommand(turns: Turns, sessions: Sessions, clock: Clock): TurnWork {
  async function run(key: SessionKey, { command, inbound }: RowPayload): Promise<string | null> {
    if (command?.name === "activation") return setActivation(sessions, key, command.args, inbound.address.kind !== "dm");
    await beginAnew(sessions, key, clock.now());
    if (command !== undefined && messageAfter(command) !== null) return null;
    return "A new conversation. What was said before is kept, but I no longer look at it.";
  }

  return async (turn, held) => {
    const [row] = turn.rows;
    if (row === undefined) return { afterMs: 0, reason: "an empty turn" };
    const payload = parseRowPayload(row.payload);
    // What the command writes carries no fencing token, so the lease is proven right before (I3).
    await held.renew();
    const answer = await run(turn.lane as SessionKey, payload);
    await turns.commit(turn, turn.id, {
      outcome: "commanded",
      reason: `/${payload.command?.name ?? ""}`,
      entries: [],
      deliveries: answer === null ? [] : [textDelivery(`${turn.id}/0`, parseConversationKey(turn.conversation), answer, turn.id)],
    });
    return { settled: true };
  };
}
