// Finds which agent a message is for, as a decision: one that no agent answers is refused with the reason.
import { isFault, type Inbound } from "@parley/protocol";
import type { Route, RouteInbound } from "@parley/access";

/** Refuses a message that no agent answers; a throw would hold up every message behind it. */
export function routed(
  route: RouteInbound,
  inbound: Inbound,
): Route | { readonly agent: null; readonly session: null; readonly reason: string } {
  try {
    return route(inbound);
  } catch (error) {
    if (isFault(error, "invalid")) return { agent: null, session: null, reason: error.message };
    throw error;
  }
}
