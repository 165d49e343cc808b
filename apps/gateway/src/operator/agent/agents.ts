// Implements `agents.list`: the agents of this gateway with their settings. Methods of one agent find theirs
// here.
import type { AgentConfig, Config } from "@parley/config";
import { Fault, type MethodParams, type MethodResult } from "@parley/protocol";

export function agentMethods({ config }: { readonly config: Pick<Config, "agents"> }) {
  const { list } = config.agents;
  const fallback = list.length === 1 ? list[0]?.id : "main";
  return {
    async "agents.list"(_params: MethodParams<"agents.list">): Promise<MethodResult<"agents.list">> {
      return {
        agents: list.map(({ id, workspace, model }) => ({
          id,
          isDefault: id === fallback,
          workspace,
          model: model.primary,
          fallbacks: [...model.fallbacks],
        })),
      };
    },
  };
}

/** The default agent where none is named. Throws Fault("missing"). */
export function agentAt({ agents: { list } }: Pick<Config, "agents">, id: string | undefined): AgentConfig {
  const found =
    id === undefined
      ? (list.find((agent) => agent.id === "main") ?? list[0])
      : list.find((agent) => agent.id === id);
  if (found === undefined)
    throw new Fault(
      "missing",
      `there is no agent "${id ?? "main"}"; there are: ${list.map((agent) => agent.id).join(", ")}`,
    );
  return found;
}
