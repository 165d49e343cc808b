// The types of agents.*: what the schema says, with what completing the config adds. An agent is merged with
// the defaults that it inherits; what is asked for before the defaults, like a model's own setting, stays
// absent.
import type { ConfigFile } from "./schema/root.ts";
import type { MemorySearchConfig } from "./memory.ts";
import type { AgentToolsConfig, SandboxConfig } from "./tools.ts";

type DefaultsFile = ConfigFile["agents"]["defaults"];
type AgentFile = ConfigFile["agents"]["list"][number];

/** `PROVIDER/MODEL` each. */
export interface ModelChoice {
  readonly primary: string;
  readonly fallbacks: readonly string[];
}

/** By `PROVIDER/MODEL`: what people may choose. Empty: every declared model. */
export type ModelCatalog = DefaultsFile["models"];

/** Most of a day and of a month; what is absent is not capped. */
export type SpendConfig = NonNullable<DefaultsFile["spend"]>;

export interface AgentDefaults extends Omit<
  DefaultsFile,
  "workspace" | "model" | "userTimezone" | "memorySearch" | "sandbox"
> {
  /** Absolute, like `repoRoot`. */
  readonly workspace: string;
  readonly model: ModelChoice;
  readonly userTimezone: string;
  readonly sandbox: SandboxConfig;
}

/** `thinkingDefault` is its own, because a model's setting comes between it and the defaults'. */
export interface AgentConfig extends Omit<
  AgentFile,
  | "workspace"
  | "model"
  | "contextLimits"
  | "skillsLimits"
  | "memorySearch"
  | "heartbeat"
  | "tools"
  | "sandbox"
> {
  /** Absolute. */
  readonly workspace: string;
  readonly model: ModelChoice;
  /** Merged with the defaults. */
  readonly contextLimits: AgentDefaults["contextLimits"];
  /** In place of `skills.limits.maxSkillsPromptChars`. */
  readonly maxSkillsPromptChars?: number;
  /** Its own; `exec` is merged with `tools.exec`. */
  readonly tools: AgentToolsConfig;
  /** Merged with the defaults. */
  readonly memorySearch: MemorySearchConfig;
  /** Merged with the defaults. */
  readonly heartbeat: AgentDefaults["heartbeat"];
  /** Merged with the defaults. */
  readonly sandbox: SandboxConfig;
}
