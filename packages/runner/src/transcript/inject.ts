// Implements `chat.inject`, which adds words to the transcript as the agent's though no model said them. It
// runs in lane order, so that they stand where the caller meant them. People cannot call it: it has no typed
// name and no menu entry.
import { noUsage, type AssistantEntry, type Clock } from "@parley/protocol";
import type { LaneCommand } from "../run-command.ts";

export const injectName = "inject";

export function injectCommand(clock: Clock): LaneCommand {
  return {
    name: injectName,
    async run({ args }) {
      const entry: AssistantEntry = {
        type: "assistant",
        content: [{ type: "text", text: args }],
        model: "operator",
        stop: "stop",
        usage: noUsage,
        atMs: clock.now(),
      };
      return { answer: args, entries: [JSON.stringify(entry)] };
    },
  };
}
