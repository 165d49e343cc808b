// The heartbeat poll and its acknowledgement.
import { heartbeatToken } from "../control-tokens.ts";
import { plainLine } from "../../plain-line.ts";
import type { VolatileSection } from "../section.ts";

const promptChars = 2000;

export const heartbeats: VolatileSection = {
  id: "heartbeats",
  title: "Heartbeats",
  level: 2,
  zone: "volatile",
  modes: ["full"],
  priority: 40,
  render: ({ surface: { heartbeatPrompt } }) =>
    heartbeatPrompt === undefined
      ? null
      : [
          `Heartbeat prompt: ${plainLine(heartbeatPrompt, promptChars)}`,
          `If you receive a heartbeat poll (a user message matching the heartbeat prompt above), and there is nothing that needs attention, reply exactly: ${heartbeatToken}`,
          `If something needs attention, do NOT include "${heartbeatToken}"; reply with the alert text instead.`,
        ].join("\n"),
  why: ({ surface }) =>
    surface.heartbeatPrompt === undefined
      ? "heartbeats are off or kept out of the prompt"
      : "heartbeats are on",
};
