// Says whether a session may spawn a sub-agent: how deep they go, how many run at once, and which agents
// they may be. None of them may do more than the session that it works for.
import type { AgentConfig, Config } from "@parley/config";
import { Fault, formatSessionKey, parseSessionKey, type SessionKey } from "@parley/protocol";
import { isSandboxed, type ToolScope } from "@parley/tools";
import { agentIn } from "../prepare-turn.ts";
import type { Services } from "../turn-scope.ts";
import { depthOf } from "./child-registry.ts";

/** Throws Fault("denied") when the agent may not work for this session. */
export function checkSpawn(
  config: Config,
  scope: Pick<ToolScope, "agent" | "session">,
  agentId: string,
): void {
  const depth = depthOf(scope.session) + 1;
  const limits = config.agents.defaults.subagents;
  if (depth > limits.maxSpawnDepth)
    throw new Fault(
      "denied",
      `sub-agents go ${limits.maxSpawnDepth} deep at most (agents.defaults.subagents.maxSpawnDepth): do this work yourself`,
    );
  const allowed = [scope.agent, ...othersOf(config, scope.agent)];
  if (!allowed.includes(agentId))
    throw new Fault(
      "denied",
      `agent ${JSON.stringify(agentId)} is not one of those that sub-agents may be here: ${allowed.join(", ")} (agents.defaults.subagents.allowAgents)`,
    );
  const agent = agentIn(config);
  const from = agent(scope.agent).sandbox.mode;
  const to = agent(agentId).sandbox.mode;
  if (agentId !== scope.agent && isBoxed(from, scope.session) && to === "off")
    throw new Fault(
      "denied",
      `this session is sandboxed and agent "${agentId}" is not (its sandbox.mode): its sub-agent could do more than you`,
    );
}

/** Throws Fault("denied") when as many others of the session run as may. */
export async function checkRoom(
  { config, children }: Pick<Services, "config" | "children">,
  parent: string,
  id: string,
): Promise<void> {
  const most = config.agents.defaults.subagents.maxChildrenPerAgent;
  const open = (await children.all()).filter(
    (child) => child.parent === parent && child.end === null && child.id !== id,
  );
  if (open.length >= most)
    throw new Fault(
      "denied",
      `${open.length} sub-agents of this session run already, and ${most} may (agents.defaults.subagents.maxChildrenPerAgent): wait until one of them ends`,
    );
}

/** True for a session whose tools run in a sandbox. */
export function isBoxed(mode: AgentConfig["sandbox"]["mode"], session: SessionKey): boolean {
  const { agent } = parseSessionKey(session);
  return isSandboxed(mode, session, [formatSessionKey({ kind: "main", agent })]);
}

export function othersOf({ agents }: Config, agent: string): readonly string[] {
  const own = agents.list.find(({ id }) => id === agent)?.subagents?.allowAgents;
  const allowed = own ?? agents.defaults.subagents.allowAgents;
  const others = agents.list.map(({ id }) => id).filter((id) => id !== agent);
  return allowed.includes("*") ? others : others.filter((id) => allowed.includes(id));
}
