// Implements /steer without words. With words it is a message for the running turn (receive/plan-event.ts).
import type { InLaneCommand } from "../chat-command.ts";

export const steer: InLaneCommand = {
  name: "steer",
  aliases: { tell: "" },
  summary: "tell me something while I work, without stopping me: /steer use the other file",
  place: "in-lane",
  run: async () => "Usage: /steer your words.",
};
