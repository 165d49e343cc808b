// Collects for a turn what the config says about its agent's context window.
import type { CompactionSettings, PruningSettings } from "@parley/agent";
import type { AgentConfig, Config } from "@parley/config";

export interface ContextSettings {
  readonly pruning: PruningSettings;
  readonly compaction: CompactionSettings;
  readonly postCompactionMaxChars: number;
  readonly toolResultMaxBytes: number;
  /** IANA name. */
  readonly timeZone: string;
}

export function contextSettings(
  { agents: { defaults } }: Config,
  { contextLimits }: AgentConfig,
): ContextSettings {
  return {
    pruning: defaults.contextPruning,
    compaction: defaults.compaction,
    postCompactionMaxChars: contextLimits.postCompactionMaxChars,
    toolResultMaxBytes: contextLimits.toolResultMaxChars,
    timeZone: defaults.userTimezone,
  };
}
