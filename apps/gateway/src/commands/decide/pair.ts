// Implements /pair for owners in private chats: lists who waits for admission and who has it, admits people
// and removes them. It shows names but never matches by them.
import { isFault } from "@parley/protocol";
import type { PairingDecisions } from "@parley/access";
import type { PastLaneCommand } from "../chat-command.ts";

const usage = "Usage: /pair list, /pair approve CODE, /pair revoke ID.";

export const pair: PastLaneCommand = {
  name: "pair",
  summary: "decide who may talk to me",
  place: "past-lane",
  ownersOnly: true,
  async run({ args, inbound }, { pairing }) {
    if (inbound.address.kind !== "dm") return "Please do that in private.";
    const [verb = "", what = ""] = args.split(/\s+/, 2);
    try {
      return await act(pairing, verb.toLowerCase(), what);
    } catch (error) {
      // The owner mistyped, or the same event came twice: the fault's message says what to do.
      if (isFault(error, "missing") || isFault(error, "conflict")) return error.message;
      throw error;
    }
  },
};

async function act(pairing: PairingDecisions, verb: string, what: string): Promise<string> {
  if (verb === "approve" && what !== "") {
    const { channel, account, senderId, senderName } = await pairing.approve(what);
    return `Let in: ${person(channel, account, senderId, senderName)}.`;
  }
  if (verb === "revoke" && what !== "") {
    const { channel, account, senderId, senderName } = await pairing.revoke(what);
    return `No longer paired: ${person(channel, account, senderId, senderName)}.`;
  }
  return verb === "" || verb === "list" ? list(pairing) : usage;
}

async function list(pairing: PairingDecisions): Promise<string> {
  const { pending, paired } = await pairing.list();
  const lines = [
    ...pending.map(
      ({ code, channel, account, senderId, senderName }) =>
        `waits \`${code}\`: ${person(channel, account, senderId, senderName)}`,
    ),
    ...paired.map(
      ({ channel, account, senderId, senderName }) =>
        `paired: ${person(channel, account, senderId, senderName)}`,
    ),
  ];
  return lines.length === 0 ? "Nobody waits, and nobody is paired." : lines.join("\n");
}

function person(channel: string, account: string, id: string, name: string): string {
  return `\`${channel}:${account}:${id}\` ${name.replaceAll(/[`\s]+/g, " ")}`;
}
