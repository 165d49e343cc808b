// Implements /start, which Telegram sends when somebody opens the chat and many people try first elsewhere.
import type { PastLaneCommand } from "../chat-command.ts";

/** The agent's name in a config that names no other. */
const usualAgent = "main";

export const start: PastLaneCommand = {
  name: "start",
  summary: "who I am",
  place: "past-lane",
  onlyTells: true,
  isUnlisted: true,
  run: async ({ inbound, route: { agent } }) => {
    const who = agent === usualAgent ? "an AI agent" : `"${agent}", an AI agent`;
    const how =
      inbound.address.kind === "dm"
        ? "Just write what you want, as you would to a person."
        : "Mention me, or reply to me, and I answer.";
    return `Hello! I am ${who}, here through Parley. ${how} /help shows the commands that I understand.`;
  },
};
