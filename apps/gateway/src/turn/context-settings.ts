// What the config says about one agent's context, gathered for a turn; what holds where nobody gathered it.
import { defaultCompaction, defaultPruning, type CompactionSettings, type PruningSettings } from "@parley/agent";
import type { AgentConfig, Config } from "@parley/config";
import type { StartupSettings } from "./startup-memory.ts";

export interface ContextSettings {
  readonly pruning: PruningSettings;
  readonly compaction: CompactionSettings;
  readonly startup: StartupSettings;
  readonly postCompactionMaxChars: number;
  readonly toolResultMaxBytes: number;
  /** IANA name. */
  readonly timeZone: string;
}

export function contextSettings({ agents: { defaults } }: Config, { contextLimits }: AgentConfig): ContextSettings {
  return {
    pruning: defaults.contextPruning,
    compaction: defaults.compaction,
    startup: defaults.startupContext,
    postCompactionMaxChars: contextLimits.postCompactionMaxChars,
    toolResultMaxBytes: contextLimits.toolResultMaxChars,
    timeZone: defaults.userTimezone,
  };
}

export const defaultContext: ContextSettings = {
  pruning: defaultPruning,
  compaction: defaultCompaction,
  startup: { enabled: true, dailyMemoryDays: 2, maxFileChars: 1_200, maxTotalChars: 2_800 },
  postCompactionMaxChars: 1_800,
  toolResultMaxBytes: 8_192,
  timeZone: "UTC",
};
