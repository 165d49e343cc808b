// The config as the rest of Parley reads it: the file's schema with accounts, agents and tools merged with
// what they inherit, paths absolute and credentials secret.
import type { AgentConfig, AgentDefaults } from "./agent-config.ts";
import type { DiscordAccountConfig, TelegramAccountConfig } from "./channel-config.ts";
import type { McpConfig } from "./mcp.ts";
import type { ConfigFile } from "./schema/root.ts";
import type { Secret } from "./secret.ts";
import type { ToolsConfig } from "./tools.ts";

export interface Config extends Omit<
  ConfigFile,
  "$schema" | "configVersion" | "agents" | "channels" | "skills" | "tools" | "mcp" | "hooks"
> {
  readonly agents: { readonly defaults: AgentDefaults; readonly list: readonly AgentConfig[] };
  readonly channels: {
    /** By account id; empty when no token is known. Disabled accounts are left out. */
    readonly telegram: { readonly [account: string]: TelegramAccountConfig };
    readonly discord: { readonly [account: string]: DiscordAccountConfig };
    readonly web: ConfigFile["channels"]["web"];
  };
  readonly skills: SkillsConfig;
  readonly hooks: HooksConfig;
  readonly tools: ToolsConfig;
  readonly mcp: McpConfig;
}

/**
 * What is absent, the models package fills from what it knows about the provider's name and the model's id.
 */
export type ProviderConfig = Config["models"]["providers"][string];

export interface SkillsConfig extends Omit<ConfigFile["skills"], "entries"> {
  readonly entries: { readonly [key: string]: SkillEntryConfig };
}

export interface SkillEntryConfig extends Omit<ConfigFile["skills"]["entries"][string], "env"> {
  /** What looks like a credential is a secret. */
  readonly env: { readonly [name: string]: string | Secret };
}

export interface HooksConfig extends Omit<ConfigFile["hooks"], "internal"> {
  readonly internal: Omit<ConfigFile["hooks"]["internal"], "entries"> & {
    readonly entries: { readonly [key: string]: HookEntryConfig };
  };
}

export interface HookEntryConfig {
  readonly enabled?: boolean;
  /** What looks like a credential is a secret. */
  readonly env: { readonly [name: string]: string | Secret };
  readonly timeoutMs?: number;
  readonly sha256?: string;
}

/** One of `token`, `secret` or the token of all of them is there. */
export type WebhookConfig = Config["hooks"]["endpoints"][string];

export type StoreConfig = Config["store"];
/** There when the driver is "redis". */
export type RedisConfig = NonNullable<StoreConfig["redis"]>;

/** `bind`: what `listenAddress` turns into what a socket takes. */
export type GatewayConfig = Config["gateway"];

/** `accountId` "*" is every account; `peer.id` "*" every chat of the kind. */
export type BindingConfig = Config["bindings"][number];

export type SessionConfig = Config["session"];

/** "idle" has its minutes; "daily" may have them too. */
export type ResetPolicy = SessionConfig["reset"];

/** What `listen` takes for `gateway.bind`. */
export function listenAddress(bind: string): string {
  if (bind === "loopback") return "127.0.0.1";
  return bind === "lan" ? "0.0.0.0" : bind;
}

export function isLoopbackBind(bind: string): boolean {
  return bind === "loopback" || bind === "::1" || bind.startsWith("127.");
}
