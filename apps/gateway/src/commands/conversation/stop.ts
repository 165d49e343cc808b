// Implements /stop in one durable step: it ends the waiting messages and raises the running turn's fence; the
// next lease holder closes the turn. It also drops the unsent part of an answer.
import { conversationKey } from "@parley/protocol";
import type { PastLaneCommand } from "../chat-command.ts";

export const stop: PastLaneCommand = {
  name: "stop",
  summary: "stop what I am doing and forget what waits",
  place: "past-lane",
  async run({ route: { session }, inbound }, { store: { inbox }, stop: ends }) {
    const stopped = await inbox.stop(session, { turn: "open", rows: "all", reason: "/stop" });
    if (stopped.turn !== null) ends.turn(stopped.turn);
    const beside = await ends.beside(session);
    const unsent = await ends.answers(session, conversationKey(inbound.address));
    if (stopped.turn === null && stopped.rows.length === 0 && beside === 0 && unsent === 0)
      return "Nothing to stop.";
    const waiting =
      stopped.rows.length === 0
        ? ""
        : ` ${stopped.rows.length} waiting message${stopped.rows.length === 1 ? " was" : "s were"} dropped.`;
    const rest =
      unsent === 0
        ? ""
        : ` ${unsent} message${unsent === 1 ? "" : "s"} of my answer ${unsent === 1 ? "is" : "are"} not sent.`;
    return `${stopped.turn === null && beside === 0 && unsent === 0 ? "Nothing was running." : "Stopped."}${waiting}${rest}`;
  },
};
