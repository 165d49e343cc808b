// The config as the rest of Parley reads it: complete, deeply readonly, accounts and agents merged with what they inherit.
import type { AddressKind, DmScope, ReasoningLevel, ThinkingLevel } from "@parley/protocol";
import type { Secret } from "./secret.ts";
import type { AgentToolsConfig, SandboxConfig, ToolRulesConfig, ToolsConfig } from "./tools.ts";

export interface Config {
  readonly gateway: GatewayConfig;
  readonly models: { readonly providers: { readonly [name: string]: ProviderConfig } };
  readonly agents: { readonly defaults: AgentDefaults; readonly list: readonly AgentConfig[] };
  readonly channels: {
    /** By account id; empty when no token is known. Disabled accounts are left out. */
    readonly telegram: { readonly [account: string]: TelegramAccountConfig };
    readonly discord: { readonly [account: string]: DiscordAccountConfig };
    readonly web: { readonly enabled: boolean };
  };
  readonly bindings: readonly BindingConfig[];
  readonly session: SessionConfig;
  readonly messages: {
    readonly queue: QueueConfig;
    readonly tts: { readonly auto: "off" | "always" | "inbound"; readonly maxTextLength: number };
    readonly groupChat: { readonly historyLimit: number };
    readonly audio: { readonly transcribe?: string };
  };
  readonly commands: {
    readonly nativeSkills: boolean | "auto";
    readonly ownerAllowFrom: readonly string[];
    readonly ownerDisplay: "raw" | "hash";
    readonly ownerDisplaySecret?: Secret;
  };
  readonly memory: { readonly citations: "off" | "on" | "auto" };
  readonly hooks: {
    readonly internal: { readonly enabled: boolean; readonly handlers: readonly HookConfig[] };
    readonly token?: Secret;
    readonly endpoints: { readonly [name: string]: WebhookConfig };
  };
  readonly tools: ToolsConfig;
  readonly approvals: { readonly exec: ExecApprovalsConfig };
  readonly skills: SkillsConfig;
  readonly store: StoreConfig;
  readonly logging: {
    readonly level: "debug" | "info" | "warn" | "error";
    /** `logs/parley.log` in the state folder. */
    readonly file: { readonly enabled: boolean; readonly maxMegabytes: number; readonly keep: number };
  };
}

/** `module`: relative to the config file. */
/** One of `token`, `secret` or the token of all of them is there. */
export interface WebhookConfig {
  readonly agentId?: string;
  readonly token?: Secret;
  readonly secret?: Secret;
  readonly signatureHeader: string;
  readonly idHeader?: string;
  readonly message?: string;
  /** A conversation key. */
  readonly deliver?: string;
  readonly maxBytes: number;
}

export interface HookConfig {
  readonly event: "agent:bootstrap";
  readonly module: string;
  readonly export: string;
}

export interface ExecApprovalsConfig {
  /** `<channel>:<id>`. Absent: the owners. */
  readonly approvers?: readonly string[];
  readonly target: "dm" | "channel" | "both";
  readonly timeoutMinutes: number;
}

export type ReactionLevel = "off" | "minimal" | "extensive";

export interface StoreConfig {
  readonly driver: "sqlite" | "redis";
  /** There when the driver is "redis". */
  readonly redis?: RedisConfig;
}

export interface RedisConfig {
  readonly url: Secret;
  readonly keyPrefix: string;
  /** Absolute paths. */
  readonly tls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string };
  readonly acceptDataLoss: boolean;
}

export interface GatewayConfig {
  readonly port: number;
  /** `loopback`, `lan` or an IP address; `listenAddress` turns it into what a socket takes. */
  readonly bind: string;
  readonly auth: { readonly token?: Secret };
  readonly allowedHosts: readonly string[];
  readonly metrics: { readonly enabled: boolean; readonly openOnLoopback: boolean };
}

export type ProviderApi = "openai-completions" | "openai-responses" | "anthropic-messages" | "google-generative-ai" | "ollama";

/** What is absent, the models package fills from what it knows about the provider's name and the model's id. */
export interface ProviderConfig {
  readonly api?: ProviderApi;
  readonly baseUrl?: string;
  readonly apiKey?: Secret;
  readonly headers?: { readonly [name: string]: Secret };
  readonly timers?: {
    readonly connectSeconds?: number;
    readonly firstTokenSeconds?: number;
    readonly idleSeconds?: number;
    readonly totalSeconds?: number;
  };
  /** Empty: any id is allowed. */
  readonly models: readonly ModelConfig[];
}

export interface ModelConfig {
  readonly id: string;
  readonly contextWindow?: number;
  readonly maxTokens?: number;
  readonly input?: readonly ("text" | "image")[];
  readonly reasoning?: boolean;
  readonly compat?: { readonly supportedReasoningEfforts?: readonly string[] };
  /** US dollars per million tokens. */
  readonly cost?: { readonly input: number; readonly output: number; readonly cacheRead?: number; readonly cacheWrite?: number };
}

/** `PROVIDER/MODEL` each. */
export interface ModelChoice {
  readonly primary: string;
  readonly fallbacks: readonly string[];
}

/** By `PROVIDER/MODEL`: what people may choose. Empty: every declared model. */
export interface ModelBook {
  readonly [ref: string]: { readonly alias?: string; readonly params?: { readonly thinking?: ThinkingLevel } };
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
  readonly models: ModelBook;
  readonly thinkingDefault?: ThinkingLevel;
  readonly reasoningDefault?: ReasoningLevel;
  readonly spend?: SpendConfig;
  readonly maxConcurrent: number;
  readonly timeoutSeconds: number;
  readonly userTimezone: string;
  readonly bootstrapMaxChars: number;
  readonly bootstrapTotalMaxChars: number;
  readonly bootstrapPromptTruncationWarning: "off" | "once" | "always";
  readonly repoRoot?: string;
  readonly heartbeat: { readonly every: string; readonly prompt: string; readonly includeSystemPromptSection: boolean };
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

export interface SkillsConfig {
  /** Absolute. */
  readonly load: { readonly extraDirs: readonly string[] };
  readonly bundled: boolean;
  readonly allowBundled?: readonly string[];
  readonly entries: { readonly [key: string]: SkillEntryConfig };
  readonly limits: {
    readonly maxSkillsPromptChars: number;
    readonly maxSkillsInPrompt: number;
    readonly maxSkillsLoadedPerSource: number;
    readonly maxCandidatesPerRoot: number;
    readonly maxSkillFileBytes: number;
  };
}

export interface SkillEntryConfig {
  readonly enabled?: boolean;
  readonly apiKey?: Secret;
  /** What looks like a credential is a secret. */
  readonly env: { readonly [name: string]: string | Secret };
  readonly config: { readonly [key: string]: unknown };
}

export type DmPolicy = "pairing" | "allowlist" | "open" | "disabled";
export type GroupPolicy = "allowlist" | "open" | "disabled";
export type Streaming = "edit" | "off" | "block";

export interface TelegramAccountConfig {
  readonly botToken: Secret;
  readonly apiRoot: string;
  readonly dmPolicy: DmPolicy;
  readonly allowFrom: readonly string[];
  readonly groupPolicy: GroupPolicy;
  readonly groupAllowFrom: readonly string[];
  /** The list of groups that are served; "*" stands for all others. Absent: there is no list; empty: it lists none. */
  readonly groups?: { readonly [chat: string]: TelegramGroupConfig };
  readonly allowBots: boolean;
  readonly streaming: Streaming;
  readonly pacing: "on" | "off";
  readonly reactionNotifications: "off" | "own" | "all";
  readonly reactionLevel?: ReactionLevel;
  readonly inlineButtons: "off" | "dm" | "group" | "all" | "allowlist";
  readonly webhook?: { readonly url: string; readonly secret: Secret };
}

/** What the config says of a shared place itself; what is absent is inherited. */
export interface PlaceConfig {
  readonly enabled?: boolean;
  readonly requireMention?: boolean;
  readonly tools?: ToolRulesConfig;
  readonly skills?: readonly string[];
  readonly systemPrompt?: string;
  readonly agentId?: string;
}

export interface TelegramTopicConfig extends PlaceConfig {
  readonly allowFrom?: readonly string[];
}

export interface TelegramGroupConfig extends TelegramTopicConfig {
  readonly groupPolicy?: GroupPolicy;
  readonly topics?: { readonly [topic: string]: TelegramTopicConfig };
}

export interface DiscordAccountConfig {
  readonly token: Secret;
  readonly apiRoot: string;
  readonly dmPolicy: DmPolicy;
  readonly allowFrom: readonly string[];
  readonly groupPolicy: GroupPolicy;
  /** As `groups`. */
  readonly guilds?: {
    readonly [guild: string]: DiscordPlaceConfig & { readonly channels?: { readonly [channel: string]: DiscordPlaceConfig } };
  };
  readonly allowBots: boolean;
  readonly streaming: Streaming;
  readonly pacing: "on" | "off";
  readonly reactionNotifications: "off" | "own" | "all";
  readonly suppressEmbeds: boolean;
  readonly messageContent: boolean;
  readonly reactionLevel?: ReactionLevel;
}

export interface DiscordPlaceConfig extends PlaceConfig {
  readonly users?: readonly string[];
  readonly roles?: readonly string[];
}

/** `accountId` "*" is every account; `peer.id` "*" every chat of the kind. */
export interface BindingConfig {
  readonly agentId: string;
  readonly match: {
    readonly channel: string;
    readonly accountId: string;
    readonly peer?: { readonly kind: AddressKind; readonly id: string };
    readonly guildId?: string;
    readonly roles?: readonly string[];
  };
  readonly session?: { readonly dmScope?: DmScope };
}

export interface SessionConfig {
  readonly dmScope: DmScope;
  readonly identityLinks: { readonly [person: string]: readonly string[] };
  readonly reset: ResetPolicy;
  readonly resetByType: { readonly direct?: ResetPolicy; readonly group?: ResetPolicy; readonly thread?: ResetPolicy };
  readonly resetByChannel: { readonly [channel: string]: ResetPolicy };
}

/** "idle" has its minutes; "daily" may have them too. */
export interface ResetPolicy {
  readonly mode: "none" | "daily" | "idle";
  /** Hour of the day at which a day begins. */
  readonly atHour: number;
  readonly idleMinutes?: number;
}

export interface QueueConfig {
  readonly mode: "steer" | "followup" | "collect" | "interrupt";
  readonly debounceMs: number;
  readonly cap: number;
  readonly drop: "summarize" | "old" | "new";
}

/** What `listen` takes for `gateway.bind`. */
export function listenAddress(bind: string): string {
  if (bind === "loopback") return "127.0.0.1";
  return bind === "lan" ? "0.0.0.0" : bind;
}

export function isLoopbackBind(bind: string): boolean {
  return bind === "loopback" || bind === "::1" || bind.startsWith("127.");
}
