// The config as the rest of Parley reads it: complete, deeply readonly, accounts and agents merged with what they inherit.
import type { AddressKind, DmScope } from "@parley/protocol";
import type { AgentConfig, AgentDefaults } from "./agent-config.ts";
import type { DiscordAccountConfig, TelegramAccountConfig } from "./channel-config.ts";
import type { ProviderConfig } from "./provider-config.ts";
import type { Secret } from "./secret.ts";
import type { SkillsConfig } from "./skill-config.ts";
import type { ToolsConfig } from "./tools.ts";

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
    readonly answerMaxChars: number;
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
  readonly media: { readonly keepDays: number; readonly maxMegabytes: number };
  readonly logging: {
    readonly level: "debug" | "info" | "warn" | "error";
    /** `logs/parley.log` in the state folder. */
    readonly file: { readonly enabled: boolean; readonly maxMegabytes: number; readonly keep: number };
  };
}

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

/** `module`: relative to the config file. */
export interface HookConfig {
  readonly event: "agent:bootstrap" | "tool:before" | "tool:after";
  readonly module: string;
  readonly export: string;
}

export interface ExecApprovalsConfig {
  /** `<channel>:<id>`. Absent: the owners. */
  readonly approvers?: readonly string[];
  readonly target: "dm" | "channel" | "both";
  readonly timeoutMinutes: number;
}

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
  /** Addresses and networks. */
  readonly trustedProxies: readonly string[];
  readonly metrics: { readonly enabled: boolean; readonly openOnLoopback: boolean };
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
  readonly resetByType: {
    readonly direct?: ResetPolicy;
    readonly group?: ResetPolicy;
    readonly thread?: ResetPolicy;
  };
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
