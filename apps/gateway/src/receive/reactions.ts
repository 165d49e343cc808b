// Reads reactions: whether the agent is told of them, and which of our messages they belong to. A reaction
// becomes context for the next turn and starts none. Telegram names neither the message's author nor its
// topic; our own receipts know both.
import {
  accountKey,
  conversationKey,
  parseConversationKey,
  type Address,
  type Content,
  type Inbound,
  parseContent,
  type RenderedPart,
} from "@parley/protocol";
import type { DeliveryView, Outbox } from "@parley/store";
import type { ReactionNotifications } from "@parley/access";

/**
 * Returns the reaction with its place and the text it belongs to, or why it does not count. Other events come
 * back unchanged.
 */
export type ReadReaction = (inbound: Inbound) => Promise<Inbound | { readonly unwanted: string }>;

export interface ReactionsOptions {
  readonly outbox: Pick<Outbox, "find">;
  readonly wanted: (inbound: Inbound) => ReactionNotifications;
}

/** Message ids are unique per chat only, so the newest matches are searched. */
const lookedAt = 200;
const quotedChars = 80;

export function reactions({ outbox, wanted }: ReactionsOptions): ReadReaction {
  async function ours(address: Address, messageId: string): Promise<DeliveryView | undefined> {
    const receipt = JSON.stringify(messageId);
    // In a forum the topic is what we look for, so the lane is not known yet.
    const lane = address.thread === undefined ? { lane: conversationKey(address) } : {};
    const found = await outbox.find({ receipt, ...lane, limit: lookedAt });
    return found.find((delivery) => {
      const to = parseConversationKey(delivery.lane);
      return to.channel === address.channel && to.account === address.account && to.peer === address.peer;
    });
  }

  /** The delivery of the poll that was voted in. */
  async function polled({ address, replyTo, vote }: Inbound): Promise<DeliveryView | undefined> {
    if (vote?.poll === undefined) return ours(address, replyTo?.messageId ?? "");
    const found = await outbox.find({ receipt: `"poll":${JSON.stringify(vote.poll)}`, limit: lookedAt });
    return found.find(({ lane }) => accountKey(parseConversationKey(lane)) === accountKey(address));
  }

  async function readVote(inbound: Inbound, vote: NonNullable<Inbound["vote"]>): ReturnType<ReadReaction> {
    const delivery = await polled(inbound);
    const poll = delivery === undefined ? null : pollIn(delivery);
    if (delivery === undefined || poll === null) return { unwanted: "a vote in a poll that is not mine" };
    const chosen = vote.options.map((option) => JSON.stringify(shortened(poll.options[option] ?? "?")));
    const what = vote.takenBack
      ? `took back ${chosen.length === 0 ? "the vote" : `the vote ${chosen.join(", ")}`}`
      : `voted ${chosen.join(", ")}`;
    return {
      ...inbound,
      address: parseConversationKey(delivery.lane),
      text: `${what} in your poll ${JSON.stringify(shortened(poll.question))}`,
    };
  }

  return async (inbound) => {
    if (inbound.kind !== "reaction") return inbound;
    const wish = wanted(inbound);
    if (wish === "off") return { unwanted: "reactions are not told (reactionNotifications: off)" };
    if (inbound.vote !== undefined) return readVote(inbound, inbound.vote);
    const messageId = inbound.replyTo?.messageId ?? "";
    const delivery = await ours(inbound.address, messageId);
    if (delivery === undefined) {
      if (wish === "own")
        return { unwanted: "a reaction to a message that is not mine (reactionNotifications: own)" };
      if (inbound.address.thread !== undefined) return { unwanted: "a reaction whose topic is not known" };
      return { ...inbound, text: `${inbound.text} to message ${messageId}` };
    }
    const words = textOf(delivery, messageId);
    return {
      ...inbound,
      address: parseConversationKey(delivery.lane),
      text: `${inbound.text} to your message ${words === "" ? messageId : JSON.stringify(words)}`,
      replyTo: { messageId, toBot: true },
    };
  };
}

function textOf({ parts }: DeliveryView, messageId: string): string {
  const part = parts.find(({ receipt }) => receipt?.includes(JSON.stringify(messageId)));
  const content = part === undefined ? null : parseContent(part.content);
  return content === null ? "" : shortened(shownText(content));
}

function shortened(text: string): string {
  return text.length > quotedChars ? `${text.slice(0, quotedChars)}…` : text;
}

function pollIn({ parts }: DeliveryView): Extract<RenderedPart, { kind: "poll" }> | null {
  const polls = parts.flatMap(({ content }) => {
    const shown = parseContent(content);
    return shown.kind === "rendered" && shown.part.kind === "poll" ? [shown.part] : [];
  });
  return polls[0] ?? null;
}

function shownText(content: Content): string {
  if (content.kind === "act") return content.action.kind === "edit" ? content.action.text.plain : "";
  if (content.kind !== "rendered") return "";
  const { part } = content;
  return part.kind === "text" ? part.plain : part.kind === "media" ? (part.caption?.plain ?? "") : "";
}
