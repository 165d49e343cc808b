// Implements /whoami: prints the ids that an operator needs for allowlists and owners.
import type { PastLaneCommand } from "../chat-command.ts";

export const whoami: PastLaneCommand = {
  name: "whoami",
  aliases: { id: "" },
  summary: "your ids, as the config wants them",
  place: "past-lane",
  onlyTells: true,
  run: async ({ inbound, route, owner }) =>
    [
      `You are \`${inbound.channel}:${inbound.sender.id}\`${owner ? ", an owner" : ""}.`,
      `This chat is \`${inbound.address.peer}\`${inbound.address.thread === undefined ? "" : `, thread \`${inbound.address.thread}\``}.`,
      // The session of a shared chat names the account, which only the operator may see.
      ...(inbound.address.kind === "dm" ? [`Session: \`${route.session}\``] : []),
    ].join("\n"),
};
