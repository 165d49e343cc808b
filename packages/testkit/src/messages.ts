// Makes messages for the tests beside it, as a platform's driver would deliver them, with as few fields as
// possible.
import type { Inbound } from "@parley/protocol";

export interface Said extends Partial<Omit<Inbound, "address" | "sender">> {
  readonly sender?: Partial<Inbound["sender"]>;
  readonly address?: Partial<Inbound["address"]>;
}

let nth = 0;

/** Person 5 writes in group -100 on telegram:default; not addressed. */
export function groupMessage({ sender, address, ...fields }: Said = {}): Inbound {
  const channel = address?.channel ?? fields.channel ?? "telegram";
  const account = address?.account ?? fields.account ?? "default";
  nth += 1;
  return {
    id: `${channel}:${account}:u${nth}`,
    channel,
    account,
    address: { channel, account, kind: "group", peer: "-100", ...address },
    sender: { id: "5", name: "Somebody", isBot: false, ...sender },
    messageId: String(nth),
    kind: "message",
    text: "hello",
    attachments: [],
    mentions: [],
    addressed: false,
    atMs: 0,
    ...fields,
  };
}

/** The same person in private. */
export function directMessage(said: Said = {}): Inbound {
  return groupMessage({
    addressed: true,
    ...said,
    address: { kind: "dm", peer: said.sender?.id ?? "5", ...said.address },
  });
}
