// /start: what Telegram sends when somebody opens the chat, and the first word that many people try elsewhere: who this is, and where to look.
import type { PastLaneCommand } from "./commands.ts";

/** Of a config that names no other agent. */
const usualAgent = "main";

export const startCommand: PastLaneCommand = {
  name: "start",
  summary: "who I am",
  run: async (_args, { inbound, route: { agent } }) => {
    const who = agent === usualAgent ? "an AI agent" : `"${agent}", an AI agent`;
    const how =
      inbound.address.kind === "dm" ? "Just write what you want, as you would to a person." : "Mention me, or reply to me, and I answer.";
    return `Hello! I am ${who}, here through Parley. ${how} /help shows the commands that I understand.`;
  },
};
