// What the rest of Parley reads of agents.*: the defaults, and each agent merged with those of them that it inherits. What is asked for before
// the defaults - a model's own setting, say - stays absent here when the agent does not say it itself.
import type { ReasoningLevel, ThinkingLevel } from "@parley/protocol";
import type { AgentToolsConfig, SandboxConfig } from "./tools.ts";

/** `PROVIDER/MODEL` each. */
export interface ModelChoice {
  readonly primary: string;
  readonly fallbacks: readonly string[];
}

/** By `PROVIDER/MODEL`: what people may choose. Empty: every declared model. */
export interface ModelCatalog {
  readonly [ref: string]: {
    readonly alias?: string;
    readonly params?: { readonly thinking?: ThinkingLevel };
  };
}

/** Most of a day and of a month; what is absent is not capped. */
export interface SpendConfig {
  readonly dayUsd?: number;
  readonly monthUsd?: number;
  readonly dayTokens?: number;
  readonly monthTokens?: number;
}

export interface AgentDefaults {
  /** Absolute. */
  readonly workspace: string;
  readonly model: ModelChoice;
  readonly models: ModelCatalog;
  readonly thinkingDefault?: ThinkingLevel;
  readonly reasoningDefault?: ReasoningLevel;
  readonly spend?: SpendConfig;
  readonly maxConcurrent: number;
  readonly timeoutSeconds: number;
  readonly userTimezone: string;
  readonly timeFormat: "auto" | "12" | "24";
  readonly bootstrapMaxChars: number;
  readonly bootstrapTotalMaxChars: number;
  readonly bootstrapPromptTruncationWarning: "off" | "once" | "always";
  readonly repoRoot?: string;
  readonly heartbeat: {
    readonly every: string;
    readonly prompt: string;
    readonly includeSystemPromptSection: boolean;
  };
  readonly silentReply: { readonly group: "deny" | "allow" };
  readonly contextPruning: ContextPruningConfig;
  readonly compaction: CompactionConfig;
  readonly startupContext: {
    readonly enabled: boolean;
    readonly dailyMemoryDays: number;
    readonly maxFileChars: number;
    readonly maxTotalChars: number;
  };
  readonly contextLimits: ContextLimits;
  readonly skills?: readonly string[];
  readonly sandbox: SandboxConfig;
}

export interface ContextPruningConfig {
  readonly mode: "off" | "cache-ttl" | "always";
  readonly ttlMs: number;
  readonly keepLastAssistants: number;
  readonly softTrimRatio: number;
  readonly hardClearRatio: number;
  readonly minPrunableToolChars: number;
  readonly softTrim: { readonly maxChars: number; readonly headChars: number; readonly tailChars: number };
  readonly hardClear: { readonly enabled: boolean; readonly placeholder: string };
  readonly tools: { readonly allow: readonly string[]; readonly deny: readonly string[] };
}

export interface CompactionConfig {
  readonly mode: "default" | "safeguard";
  readonly reserveTokensFloor: number;
  readonly keepRecentTokens: number;
  readonly identifierPolicy: "strict" | "off";
  readonly memoryFlush: {
    readonly enabled: boolean;
    readonly softThresholdTokens: number;
    readonly forceFlushTranscriptBytes: number;
  };
  readonly postCompactionSections: readonly string[];
}

export interface ContextLimits {
  /** Bytes of UTF-8. */
  readonly toolResultMaxChars: number;
  readonly postCompactionMaxChars: number;
}

export interface AgentConfig {
  readonly id: string;
  /** Absolute. */
  readonly workspace: string;
  readonly model: ModelChoice;
  /** Its own; the defaults' are not copied here, because a model's own setting comes between them. */
  readonly thinkingDefault?: ThinkingLevel;
  readonly reasoningDefault?: ReasoningLevel;
  readonly spend?: SpendConfig;
  /** Merged with the defaults. */
  readonly contextLimits: ContextLimits;
  /** The only skills that it may use; absent: all. */
  readonly skills?: readonly string[];
  /** In place of `skills.limits.maxSkillsPromptChars`. */
  readonly maxSkillsPromptChars?: number;
  /** Its own; `exec` is merged with `tools.exec`. */
  readonly tools: AgentToolsConfig;
  /** Merged with the defaults. */
  readonly sandbox: SandboxConfig;
}
