// Says which tools a sub-agent may never have, beside what the config says of them.
import type { Config } from "@parley/config";
import { parseSessionKey, type SessionKey } from "@parley/protocol";
import type { ToolRules } from "@parley/tools";
import { depthOf } from "../sessions/child-registry.ts";

/** What a child may never do: speak for its parent, change the gateway, or spawn below the last level. */
const notForChildren = ["gateway", "cron", "message", "ask_user", "sessions_send", "session_status"];

export function childRules(session: SessionKey, { agents, tools }: Config): ToolRules | undefined {
  if (parseSessionKey(session).kind !== "subagent") return undefined;
  const { allow, deny = [] } = tools.subagents.tools ?? {};
  const isLeaf = depthOf(session) >= agents.defaults.subagents.maxSpawnDepth;
  const last = isLeaf ? ["sessions_spawn", "subagents", "sessions_list", "sessions_history"] : [];
  return { ...(allow === undefined ? {} : { allow }), deny: [...deny, ...notForChildren, ...last] };
}
