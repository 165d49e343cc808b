// /stop: one durable step. The waiting messages end, the running turn's fence is raised; the next holder closes the turn. What is not sent
// yet of an answer is not sent any more.
import { conversationKey, type SessionKey } from "@parley/protocol";
import type { Inbox } from "@parley/store";
import type { DropAnswers } from "@parley/delivery";
import type { PastLaneCommand } from "./commands.ts";

export interface Stoppable {
  /** The turn that has to end now and not at its next write. */
  readonly turn: (turn: string) => void;
  /** What goes on beside the turns of a session: background commands, requests for approval. Returns how many of them ended. */
  readonly beside: (session: SessionKey) => Promise<number>;
  /** What is not sent yet of answers of the session to a conversation. Returns how many messages that is. */
  readonly answers: DropAnswers;
}

export function stopCommand(inbox: Inbox, stop: Stoppable): PastLaneCommand {
  return {
    name: "stop",
    summary: "stop what I am doing and forget what waits",
    async run(_args, by) {
      const stopped = await inbox.stop(by.route.session, { turn: "open", rows: "all", reason: "/stop" });
      if (stopped.turn !== null) stop.turn(stopped.turn);
      const beside = await stop.beside(by.route.session);
      const unsent = await stop.answers(by.route.session, conversationKey(by.inbound.address));
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
}
