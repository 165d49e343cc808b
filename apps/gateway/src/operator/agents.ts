// Implements `agents.list`: the agents of this gateway with their settings.
import type { Config } from "@parley/config";
import type { MethodParams, MethodResult } from "@parley/protocol";

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
