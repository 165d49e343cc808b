// Builds deliveries that no turn commits: answers of commands, pairing codes, notices. Their ids derive from
// what caused them, so posting one again changes nothing.
import { accountKey, conversationKey, type Address, type Inbound, formatContent } from "@parley/protocol";
import type { NewDelivery } from "@parley/store";

/** Answers one inbound event where it came from (I6). */
export function noticeDelivery(inbound: Pick<Inbound, "id" | "address">, markdown: string): NewDelivery {
  return textDelivery(`notice:${inbound.id}`, inbound.address, markdown, inbound.id);
}

export function textDelivery(id: string, to: Address, markdown: string, cause: string): NewDelivery {
  return {
    id,
    pool: accountKey(to),
    lane: conversationKey(to),
    cause,
    parts: [{ content: formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown }] }) }],
  };
}
