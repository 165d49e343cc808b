// Programs that speak to an agent: over the chat API ("api"), or by webhook ("hook"). They are senders like people, on the same durable path;
// what differs stands here: where they are, which session is theirs (I14), and that nobody types.
import { Fault, formatSessionKey, type Address, type Inbound, type SessionKey } from "@parley/protocol";

export const programAccount = "default";

/** One user of one client of the chat API. */
export interface ApiUser {
  readonly agent: string;
  /** The web peer that its token has. */
  readonly client: string;
  readonly user: string;
  /** Its token may not administer. */
  readonly guest?: boolean;
}

export function apiAddress({ agent, client, user }: ApiUser): Address {
  return { channel: "api", account: programAccount, kind: "dm", peer: `${agent}/${client}/${user}` };
}

export function hookAddress(agent: string, name: string): Address {
  return { channel: "hook", account: programAccount, kind: "dm", peer: `${agent}/${name}` };
}

/** A message of a program is whole when it comes, and is answered by a turn of its own. */
export function isProgram({ channel }: Pick<Inbound, "channel">): boolean {
  return channel === "api" || channel === "hook";
}

/** Null for what people say. A webhook's answer may go elsewhere, so its sender names its session, not its address. */
export function programRoute(message: {
  readonly address: Address;
  readonly channel?: string | undefined;
  readonly sender?: Pick<Inbound["sender"], "id"> | undefined;
}): { readonly agent: string; readonly session: SessionKey } | null {
  const { address, channel = address.channel, sender } = message;
  if (channel === "api") {
    const [agent = "", client = "", ...user] = address.peer.split("/");
    return { agent, session: formatSessionKey({ kind: "api", agent, client, user: user.join("/") }) };
  }
  if (channel !== "hook") return null;
  const [agent, name] = (address.channel === "hook" ? address.peer : (sender?.id ?? "")).split("/");
  if (agent === undefined || name === undefined)
    throw new Fault("invalid", "a webhook's message does not say which webhook it is of");
  return { agent, session: formatSessionKey({ kind: "hook", agent, name }) };
}
