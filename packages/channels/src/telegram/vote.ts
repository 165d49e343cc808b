// Reads a vote in a poll of the bot's. Telegram tells only votes that are not anonymous.
import type { PollAnswer } from "grammy/types";
import type { Inbound } from "@parley/protocol";
import type { BotIdentity } from "./addressing.ts";
import { personName } from "./content.ts";
import { salvageVote } from "./salvage.ts";
import { chatSender } from "./sender.ts";

/** Telegram names neither the chat nor the message: the gateway knows where it sent the poll. */
export function fromVote(
  told: PollAnswer,
  updateId: number,
  context: {
    readonly channel: string;
    readonly account: string;
    readonly me: Pick<BotIdentity, "id">;
    readonly nowMs: number;
  },
): Omit<Inbound, "id" | "channel" | "account" | "bot"> | null {
  const { poll_id: poll, option_ids: options, user, voter_chat: chat } = salvageVote(told);
  const sender =
    user === undefined
      ? chatSender(chat)
      : { id: String(user.id), name: personName(user), isBot: user.is_bot === true };
  if (sender.id === context.me.id) return null;
  const { channel, account } = context;
  return {
    address: { channel, account, kind: "channel", peer: `poll-${poll}` },
    sender,
    messageId: `vote-${updateId}`,
    kind: "reaction",
    text: options.length === 0 ? "took back a vote" : "voted",
    attachments: [],
    mentions: [],
    addressed: false,
    vote: { poll, options, takenBack: options.length === 0 },
    atMs: context.nowMs,
  };
}
