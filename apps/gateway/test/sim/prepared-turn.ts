// What a turn of the simulation runs with: its model and tools, and nothing read from a disk, whose own
// timing would come in.
import { ownersAlone } from "@parley/agent";
import type { Config } from "@parley/config";
import type { Model } from "@parley/models";
import type { PreparedTurn } from "@parley/runner";
import type { Tool } from "@parley/tools";

export function simulatedTurn(config: Config, model: Model, tools: readonly Tool[]): PreparedTurn {
  const { defaults, list } = config.agents;
  const [agent] = list;
  if (agent === undefined) throw new Error("the simulated config has no agent");
  return {
    model,
    system: { stable: "", volatile: "" },
    tools,
    execPolicy: { mode: "allowlist", ask: "on-miss", allowlist: [], grants: [], owner: false },
    workspace: "/nowhere",
    thinking: "off",
    reasoning: "off",
    thinkingFor: () => "off",
    refuses: () => null,
    refusal: null,
    timeoutMs: defaults.timeoutSeconds * 1_000,
    spill: async () => "",
    context: {
      pruning: defaults.contextPruning,
      compaction: defaults.compaction,
      postCompactionMaxChars: agent.contextLimits.postCompactionMaxChars,
      toolResultMaxBytes: agent.contextLimits.toolResultMaxChars,
      timeZone: defaults.userTimezone,
    },
    keepsNotes: true,
    notesPlace: { folder: "memory", heading: null, added: async () => {}, originOf: async () => ownersAlone },
    startupNotes: async () => null,
    env: {},
    skillBodies: new Map(),
    alone: false,
    notes: [],
    finalOnly: () => false,
    tellsEmptyInGroups: false,
    promptNote: () => ({ cells: [], patch: {}, committed() {} }),
  };
}
