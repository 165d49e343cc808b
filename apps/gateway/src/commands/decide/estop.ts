// Implements /estop for owners: ends all running tools, everywhere, and blocks tools until /estop off.
import type { PastLaneCommand } from "../chat-command.ts";

const usage = "Usage: /estop (hold all tools), or /estop off (let them go on).";

export const estop: PastLaneCommand = {
  name: "estop",
  summary: "hold all tools of all conversations; /estop off lets them go on",
  place: "past-lane",
  ownersOnly: true,
  async run({ args, inbound: { channel, sender }, owner }, { hold }) {
    if (!owner) return null;
    switch (args.trim().toLowerCase()) {
      case "":
      case "on":
        return (await hold.hold(`${channel}:${sender.id}`))
          ? "🛑 All tools are held, in all conversations, and what they did was ended. /estop off lets them go on."
          : "🛑 All tools were held before, and are. /estop off lets them go on.";
      case "off":
      case "resume":
        return (await hold.release()) ? "Tools may be used again." : "Tools were not held.";
      default:
        return usage;
    }
  },
};
