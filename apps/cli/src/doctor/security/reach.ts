// Names the agents whose tools reach further than a test allows.
import type { Config } from "@parley/config";

interface Reach {
  readonly exec: { readonly mode: string; readonly ask: string };
  readonly sandbox: { readonly mode: string };
}

export function agentsThat(config: Config, test: (reach: Reach) => boolean): string[] {
  return config.agents.list
    .filter((agent) => test({ exec: agent.tools.exec, sandbox: agent.sandbox }))
    .map(({ id }) => id);
}
