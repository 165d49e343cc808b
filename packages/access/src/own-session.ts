// Whose session a key names. A caller's own are those of its web peer, and of the users that its token speaks for over the chat API; whoever
// may not administer reaches no other (I14).
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

/** The web peer that the control plane minted for a token, and what that token may do. */
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

/** As what it says is routed: whoever may not administer is a guest. */
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

/** Null for what is no key: nobody owns it. */
function partsOf(key: string): SessionKeyParts | null {
  try {
    return parseSessionKey(key);
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}
