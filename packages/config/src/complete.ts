// Completes the file as the schema leaves it to the config that Parley reads: fills every default and makes
// every path absolute.
import { join } from "node:path";
import { discordAccounts, telegramAccounts } from "./accounts.ts";
import type { AgentConfig, AgentDefaults, ModelChoice } from "./agent-config.ts";
import type { Config, StoreConfig } from "./config.ts";
import { expandPath, type Env } from "./home.ts";
import { hooksOf } from "./hooks.ts";
import { memorySearchOf } from "./memory.ts";
import { mcpOf } from "./mcp.ts";
import { defaultModel, providersOf } from "./providers.ts";
import type { ConfigFile } from "./schema/root.ts";
import { skillsOf, skillsOfAgent } from "./skills.ts";
import { sandboxOf, toolsOf, toolsOfAgent } from "./tools.ts";

export function complete(file: ConfigFile, env: Env, home: string): Config {
  const providers = providersOf(file, env);
  const fileDefaults = file.agents.defaults;
  const chosen = (own: ConfigFile["agents"]["defaults"]["model"], otherwise: ModelChoice): ModelChoice =>
    own === undefined ? otherwise : { primary: own.primary ?? otherwise.primary, fallbacks: own.fallbacks };
  const { memorySearch: _ofEachAgent, ...rest } = fileDefaults;
  const defaults: AgentDefaults = {
    ...rest,
    workspace: expandPath(fileDefaults.workspace ?? "workspace", home),
    model: chosen(fileDefaults.model, { primary: defaultModel(providers), fallbacks: [] }),
    ...(fileDefaults.repoRoot === undefined ? {} : { repoRoot: expandPath(fileDefaults.repoRoot, home) }),
    sandbox: sandboxOf(fileDefaults.sandbox),
    userTimezone: fileDefaults.userTimezone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
  const tools = toolsOf(file, home, providers, env);
  const list = file.agents.list.map((agent, index): AgentConfig => {
    // Two agents must not write into one folder unless somebody said so.
    const workspace = index === 0 ? defaults.workspace : join(home, `workspace-${agent.id}`);
    return {
      id: agent.id,
      workspace: agent.workspace === undefined ? workspace : expandPath(agent.workspace, home),
      model: chosen(agent.model, defaults.model),
      ...(agent.thinkingDefault === undefined ? {} : { thinkingDefault: agent.thinkingDefault }),
      ...ownOr("reasoningDefault", agent, defaults),
      ...ownOr("spend", agent, defaults),
      contextLimits: { ...defaults.contextLimits, ...agent.contextLimits },
      ...(agent.subagents === undefined ? {} : { subagents: agent.subagents }),
      ...skillsOfAgent(agent, defaults),
      tools: toolsOfAgent(agent, tools),
      heartbeat: { ...defaults.heartbeat, ...agent.heartbeat },
      memorySearch: memorySearchOf(agent.memorySearch, fileDefaults.memorySearch, { providers, env }),
      sandbox: sandboxOf(agent.sandbox, fileDefaults.sandbox),
    };
  });
  return {
    gateway: file.gateway,
    models: { providers },
    agents: { defaults, list },
    channels: {
      telegram: telegramAccounts(file, env),
      discord: discordAccounts(file, env),
      web: file.channels.web,
    },
    bindings: file.bindings,
    session: file.session,
    messages: file.messages,
    commands: file.commands,
    limits: file.limits,
    tools,
    approvals: file.approvals,
    browser: file.browser,
    canvas: file.canvas,
    memory: file.memory,
    cron: file.cron,
    hooks: hooksOf(file.hooks, home),
    mcp: mcpOf(file.mcp, home),
    skills: skillsOf(file.skills, home),
    store: storeOf(file.store, home),
    backup: file.backup,
    media: file.media,
    retention: file.retention,
    telemetry: file.telemetry,
    update: file.update,
    logging: file.logging,
  };
}

function storeOf({ driver, redis }: ConfigFile["store"], home: string): StoreConfig {
  if (redis === undefined) return { driver };
  const { tls, ...rest } = redis;
  const paths = Object.entries(tls ?? {}).map(([key, path]) => [key, expandPath(path, home)] as const);
  return { driver, redis: { ...rest, ...(tls === undefined ? {} : { tls: Object.fromEntries(paths) }) } };
}

/** The agent's own value, else the defaults'; nothing when neither has one. */
function ownOr<Key extends "reasoningDefault" | "spend">(
  key: Key,
  own: Pick<AgentConfig, Key>,
  defaults: Pick<AgentConfig, Key>,
): Pick<AgentConfig, Key> | object {
  const value = own[key] ?? defaults[key];
  return value === undefined ? {} : { [key]: value };
}
