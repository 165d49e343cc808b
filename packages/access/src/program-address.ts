// Addresses and sessions of programs that speak to an agent, over the chat API ("api") or by webhook
// ("hook"). Programs are senders like people and take the same durable path; this file holds what differs:
// their address, their session (I14), and that nobody types.
import { Fault, formatSessionKey, type Address, type Inbound, type SessionKey } from "@parley/protocol";

export const programAccount = "default";

/** One user of one client of the chat API. */
export interface ApiUser {
  readonly agent: string;
  /** The web peer of its token. */
  readonly client: string;
  readonly user: string;
  /** True when its token lacks admin scope. */
  readonly guest?: boolean;
}

export function apiAddress({ agent, client, user }: ApiUser): Address {
  return { channel: "api", account: programAccount, kind: "dm", peer: `${agent}/${client}/${user}` };
}

export function hookAddress(agent: string, name: string): Address {
  return { channel: "hook", account: programAccount, kind: "dm", peer: `${agent}/${name}` };
}

/** A program's message is complete when it comes, and gets a turn of its own. */
export function isProgram({ channel }: Pick<Inbound, "channel">): boolean {
  return channel === "api" || channel === "hook";
}

/**
 * Returns null for messages of people. A webhook's answer may go elsewhere, so its sender and not its address
 * names the session.
 */
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
