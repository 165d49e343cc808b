// /whoami: the ids that an operator needs for allowlists and owners.
import type { PastLaneCommand } from "./chat-command.ts";

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
      // Of a shared place it names the account, which is the operator's.
      ...(inbound.address.kind === "dm" ? [`Session: \`${route.session}\``] : []),
    ].join("\n"),
};
