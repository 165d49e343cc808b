// What `chat.inject` puts into a lane: words of the agent's that no model said. In lane order, so that they stand where they were meant. No
// person can give this command: it has no name that is typed, and stands in no menu.
import { noUsage, type AssistantEntry, type Clock } from "@parley/protocol";
import type { LaneCommand } from "./run-command.ts";

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
