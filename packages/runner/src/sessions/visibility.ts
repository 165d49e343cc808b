// Decides which sessions a turn may see, read and write to: itself, what it spawned, and for owners' turns
// what tools.sessions.visibility adds. One function of facts, and keys only in their one spelling, so that no
// way of writing a key reaches further than another.
import type { Config } from "@parley/config";
import { formatSessionKey, isFault, parseSessionKey, type SessionKey } from "@parley/protocol";
import type { ToolScope } from "@parley/tools";

interface Reach {
  readonly allowed: boolean;
  /** For the log and for operators; what may not be seen is never explained to the model. */
  readonly reason: string;
}

interface ReachFacts {
  readonly from: SessionKey;
  readonly to: SessionKey;
  /** True when all whose words the turn follows are owners. */
  readonly owner: boolean;
  /** `to` is a sub-agent below `from`. */
  readonly isBelow: boolean;
}

export function reachOf(
  { from, to, owner, isBelow }: ReachFacts,
  { sessions: { visibility }, agentToAgent }: Pick<Config["tools"], "sessions" | "agentToAgent">,
): Reach {
  const yes = (reason: string): Reach => ({ allowed: true, reason });
  const no = (reason: string): Reach => ({ allowed: false, reason });
  if (from === to) return yes("it is the session itself");
  if (visibility === "self") return no('tools.sessions.visibility is "self"');
  if (isBelow) return yes("it is a sub-agent of the session");
  if (!owner) return no("only owners reach beyond the session and its sub-agents");
  if (visibility === "tree") return no('tools.sessions.visibility is "tree"');
  const [own, other] = [parseSessionKey(from).agent, parseSessionKey(to).agent];
  if (own === other) return yes("it is a session of the same agent");
  if (visibility === "agent") return no('tools.sessions.visibility is "agent"');
  if (!agentToAgent.enabled) return no("tools.agentToAgent.enabled is false");
  const outside = [own, other].find(
    (agent) => !agentToAgent.allow.includes("*") && !agentToAgent.allow.includes(agent),
  );
  return outside === undefined
    ? yes("both agents are in tools.agentToAgent.allow")
    : no(`agent ${outside} is not in tools.agentToAgent.allow`);
}

/** The one spelling of a session key; null when it is none. */
export function canonicalKey(text: string): SessionKey | null {
  try {
    return formatSessionKey(parseSessionKey(text.trim()));
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}

/** What a call may reach: the session's own sub-agents are known by their keys. */
export function mayReach(
  { session, by }: Pick<ToolScope, "session" | "by">,
  below: readonly { readonly session: string }[],
  tools: Config["tools"],
): (to: SessionKey) => Reach {
  const own = new Set(below.map((child) => child.session));
  return (to) => reachOf({ from: session, to, owner: by.owner, isBelow: own.has(to) }, tools);
}
