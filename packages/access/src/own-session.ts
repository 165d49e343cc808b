// Decides which sessions belong to a caller: those of its web peer and of the users its token speaks for over
// the chat API. A caller without admin scope reaches no other session (I14).
import { guestRole } from "@parley/channels";
import {
  isFault,
  parseSessionKey,
  type Address,
  type Inbound,
  type Scope,
  type SessionKeyParts,
} from "@parley/protocol";
import type { RouteInbound } from "./routing.ts";

/** The web peer that the control plane minted for a token, and the token's scopes. */
export interface WebCaller {
  readonly peer: string;
  readonly scopes: readonly Scope[];
}

export type OwnsSession = (caller: WebCaller, key: string) => boolean;

export function webAddress(
  account: string,
  { peer }: Pick<WebCaller, "peer">,
  thread: string | undefined,
): Address {
  return { channel: "web", account, kind: "dm", peer, ...(thread === undefined ? {} : { thread }) };
}

/** The sender that the caller's messages come from; without admin scope it is a guest. */
export function webSender({ peer, scopes }: WebCaller): Inbound["sender"] {
  return { id: peer, name: peer, isBot: false, ...(scopes.includes("admin") ? {} : { roles: [guestRole] }) };
}

export function sessionOwnership(route: RouteInbound, account: string): OwnsSession {
  return (caller, key) => {
    const parts = partsOf(key);
    if (parts?.kind === "api") return parts.client === caller.peer;
    if (parts?.kind !== "dm") return false;
    return (
      route({ address: webAddress(account, caller, parts.thread), sender: webSender(caller) }).session === key
    );
  };
}

/** Returns null for text that is no session key: nobody owns that. */
function partsOf(key: string): SessionKeyParts | null {
  try {
    return parseSessionKey(key);
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}
