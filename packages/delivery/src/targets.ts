// Finds the platform messages that an action or a quote means. A tool names what it sent by the delivery's
// id, because it need not wait for the receipt; the outbox sends in order, so the receipt is there when the
// action is sent.
import {
  parseContent,
  type ConversationKey,
  type MessageTarget,
  type Quoted,
  type Receipt,
} from "@parley/protocol";
import type { DeliveryView, Outbox, PartView } from "@parley/store";
import { threadIn } from "./opened-thread.ts";

export interface SentMessage {
  readonly messageId: string;
  /** The thread that the message opened or went to, where that is not the lane's own. */
  readonly thread?: string;
  /** True for a file, whose text is its caption. */
  readonly isFile: boolean;
  /** True for a message that goes on with the text of the one before it. */
  readonly continues: boolean;
}

/** The messages of a target, in order, or why there are none. */
export type FoundMessages = readonly [SentMessage, ...SentMessage[]] | { readonly gone: string };

export async function messagesOf(
  outbox: Pick<Outbox, "find">,
  lane: ConversationKey,
  target: MessageTarget,
): Promise<FoundMessages> {
  if ("messageId" in target) return [{ messageId: target.messageId, isFile: false, continues: false }];
  const [found] = await outbox.find({ id: target.delivery, limit: 1 });
  if (found === undefined) return { gone: `there is no delivery ${target.delivery}` };
  if (found.lane !== lane)
    return { gone: `delivery ${target.delivery} belongs to another conversation (${found.lane})` };
  const [first, ...rest] = found.parts.flatMap(messagesIn);
  return first === undefined
    ? { gone: `delivery ${target.delivery} has no message: ${whyNone(found)}` }
    : [first, ...rest];
}

/** Undefined where the quoted message was never sent: an answer is worth more than its quote. */
export async function quotedId(
  outbox: Pick<Outbox, "find">,
  lane: ConversationKey,
  quoted: Quoted | undefined,
): Promise<string | undefined> {
  if (quoted === undefined || typeof quoted === "string") return quoted;
  const found = await messagesOf(outbox, lane, quoted);
  return "gone" in found ? undefined : found[0].messageId;
}

/** Undefined where that delivery opened none in this lane. */
export async function threadOpenedBy(
  outbox: Pick<Outbox, "find">,
  lane: ConversationKey,
  delivery: string,
): Promise<string | undefined> {
  const [found] = await outbox.find({ id: delivery, limit: 1 });
  return found?.lane === lane ? threadIn(...found.parts.map(({ receipt }) => receipt)) : undefined;
}

/** An album is several messages in one part. */
function messagesIn({ state, receipt, content }: PartView): readonly SentMessage[] {
  if (state !== "sent" || receipt === null) return [];
  const sent = parseContent(content);
  // A thread is no message of the conversation that it was opened in.
  if (sent.kind === "act" && sent.action.kind !== "edit") return [];
  const { messageId, extra = {} } = JSON.parse(receipt) as Receipt;
  if (messageId === "") return [];
  const part = sent.kind === "rendered" ? sent.part : null;
  const shown = {
    isFile: part?.kind === "media",
    continues: part?.kind === "text" && part.continues === true,
  };
  const thread = typeof extra["thread"] === "string" ? { thread: extra["thread"] } : {};
  const ids = Array.isArray(extra["messageIds"]) ? extra["messageIds"].map(String) : [messageId];
  return ids.map((id) => ({ messageId: id, ...shown, ...thread }));
}

function whyNone({ done, parts }: DeliveryView): string {
  const reason = parts.find((part) => part.reason !== null)?.reason;
  return reason ?? (done ? "it sent none" : "it was not sent yet");
}
