// /stop: one durable step. The waiting messages end, the running turn's fence is raised; the next holder closes the turn.
import type { Inbox } from "@parley/store";
import type { PastLaneCommand } from "./commands.ts";

export function stopCommand(inbox: Inbox, onStopped: (turn: string) => void): PastLaneCommand {
  return {
    name: "stop",
    summary: "stop what I am doing and forget what waits",
    async run(_args, by) {
      const stopped = await inbox.stop(by.route.session, { turn: "open", rows: "all", reason: "/stop" });
      if (stopped.turn !== null) onStopped(stopped.turn);
      if (stopped.turn === null && stopped.rows.length === 0) return "Nothing to stop.";
      const waiting =
        stopped.rows.length === 0 ? "" : ` ${stopped.rows.length} waiting message${stopped.rows.length === 1 ? " was" : "s were"} dropped.`;
      return `${stopped.turn === null ? "Nothing was running." : "Stopped."}${waiting}`;
    },
  };
}
