// Finds the message that a tool's call means, by the handle of an earlier call or the platform's id, and says
// whether the agent may change it. What Parley itself said, above all requests for approval, no agent
// changes.
import {
  Fault,
  parseContent,
  type ConversationKey,
  type MessageTarget,
  type Receipt,
} from "@parley/protocol";
import type { DeliveryView, Outbox } from "@parley/store";
import type { MessageRequest, ToolScope } from "@parley/tools";

type Named = Pick<MessageRequest, "handle" | "messageId">;

/**
 * Null when the call names none. `crosses`: the turn may reach other conversations. Throws Fault("missing")
 * for a handle that nothing has.
 */
export async function deliveryNamed(
  outbox: Pick<Outbox, "find">,
  { handle }: Named,
  { agent, conversation }: Pick<ToolScope, "agent" | "conversation">,
  crosses: boolean,
): Promise<DeliveryView | null> {
  if (handle === undefined) return null;
  const [found] = await outbox.find({ id: handle, limit: 1 });
  // What is out of this turn's reach is as unknown as what was never sent.
  if (found === undefined || !isAgents(found, agent) || (!crosses && found.lane !== conversation))
    throw new Fault("missing", "you sent no message with this handle");
  return found;
}

/** Turns and calls stand in a handle, and in no name of a place. */
const isHandle = /#\d+\//;

/** The call that opened the thread which `to` means; null for any other `to`. Throws Fault. */
export async function threadNamed(
  outbox: Pick<Outbox, "find">,
  { to, action }: Pick<MessageRequest, "to" | "action">,
  scope: Pick<ToolScope, "agent" | "conversation">,
  crosses: boolean,
): Promise<DeliveryView | null> {
  if (to === undefined || !isHandle.test(to)) return null;
  const found = await deliveryNamed(outbox, { handle: to.trim(), messageId: undefined }, scope, crosses);
  const first = found?.parts[0];
  const content = first === undefined ? null : parseContent(first.content);
  const opens =
    (content?.kind === "action" || content?.kind === "act") && content.action.kind === "createThread";
  if (!opens) throw new Fault("invalid", "that call opened no thread: give the handle of one that did");
  if (first?.state === "failed" || first?.state === "ambiguous")
    throw new Fault("missing", `its thread could not be opened: ${first.reason ?? "the outcome is unknown"}`);
  if (action !== "send" && action !== "reply" && action !== "poll")
    throw new Fault("invalid", "by its handle a thread can only be written in: send, reply or poll");
  return found;
}

/** What the call names. Throws Fault("invalid") when it names nothing. */
export function namedTarget({ handle, messageId }: Named): MessageTarget {
  if (handle !== undefined) return { delivery: handle };
  if (messageId !== undefined) return { messageId };
  throw new Fault("invalid", "say which message: give its handle or messageId");
}

/** Throws Fault("denied") unless this turn may edit, delete or pin the message. */
export async function checkMayChange(
  outbox: Pick<Outbox, "find">,
  target: MessageTarget,
  lane: ConversationKey,
  { agent, by }: Pick<ToolScope, "agent" | "by">,
  action: MessageRequest["action"],
): Promise<void> {
  if ("delivery" in target) return;
  const found = await deliveryOf(outbox, lane, target.messageId);
  if (found !== null) {
    if (isAgents(found, agent)) return;
    throw new Fault("denied", "that message is Parley's own, and stays as it is");
  }
  if (action === "edit")
    throw new Fault("denied", "only your own messages can be edited, and that is none of them");
  if (!by.owner) throw new Fault("denied", `only an owner may have others' messages changed (${action})`);
}

async function deliveryOf(
  outbox: Pick<Outbox, "find">,
  lane: ConversationKey,
  messageId: string,
): Promise<DeliveryView | null> {
  const near = await outbox.find({ lane, receipt: JSON.stringify(messageId), limit: 20 });
  return (
    near.find(({ parts }) =>
      parts.some(({ receipt }) => {
        if (receipt === null) return false;
        const sent = JSON.parse(receipt) as Receipt;
        const ids = sent.extra?.["messageIds"];
        return sent.messageId === messageId || (Array.isArray(ids) && ids.map(String).includes(messageId));
      }),
    ) ?? null
  );
}

/** Answers and messages of this agent's turns; cards, notices and commands' answers have other ids. */
function isAgents({ id, cause }: DeliveryView, agent: string): boolean {
  if (!cause.startsWith(`agent:${agent}:`)) return false;
  return id.startsWith(`${cause}/`) || id.startsWith(`message:${cause}/`);
}
