// /new and /reset: a new epoch of the session. What stood after the name is the first message of the new conversation, and its answer is
// answer enough.
import type { Clock } from "@parley/protocol";
import type { Sessions } from "@parley/store";
import { messageAfter } from "../inbound/command.ts";
import { beginAnew } from "../inbound/reset-policy.ts";
import type { LaneCommand } from "../turn/lane-command.ts";
import { startupDue } from "../turn/startup-memory.ts";

export function newCommand(sessions: Sessions, clock: Clock): LaneCommand {
  return {
    name: "new",
    summary: "begin a new conversation",
    async run({ key, name, args }) {
      const session = await beginAnew(sessions, key, clock.now());
      if (messageAfter({ name, args }) !== null) return null;
      return {
        answer: "A new conversation. What was said before is kept, but I no longer look at it.",
        patch: startupDue(session.epoch),
      };
    },
  };
}

export function resetCommand(sessions: Sessions, clock: Clock): LaneCommand {
  return { ...newCommand(sessions, clock), name: "reset", summary: "the same as /new" };
}
