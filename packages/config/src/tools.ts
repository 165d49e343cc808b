// tools.* and sandboxes as the rest of Parley reads them: every default filled, an agent's own settings
// merged with what all have.
import { expandPath, type Env } from "./home.ts";
import type { ConfigFile } from "./schema/root.ts";
import { execDefaults, sandboxDefaults } from "./schema/tools.ts";
import { searchProvidersOf, type LentKey, type SearchProviderConfig } from "./web-search.ts";

type AgentFile = ConfigFile["agents"]["list"][number];
type ExecFile = ConfigFile["tools"]["exec"];
type SandboxFile = NonNullable<AgentFile["sandbox"]>;

/** `readRoots` are absolute. */
export interface ToolsConfig extends Omit<ConfigFile["tools"], "exec" | "web"> {
  readonly exec: ExecConfig;
  readonly web: WebConfig;
}

type SearchProviders = { readonly [name in SearchProviderConfig["name"]]: unknown };
type WebFile = ConfigFile["tools"]["web"];

/** `providers`: those to ask, in this order. */
export interface WebConfig extends Omit<WebFile, "search"> {
  readonly search: Omit<WebFile["search"], keyof SearchProviders | "apiKey"> & {
    readonly providers: readonly SearchProviderConfig[];
  };
}

export interface AgentToolsConfig extends Omit<NonNullable<AgentFile["tools"]>, "exec"> {
  readonly exec: ExecConfig;
}

type ExecConfig = Required<Omit<ExecFile, "security">>;

export interface SandboxConfig extends Required<
  Pick<SandboxFile, "mode" | "backend" | "scope" | "workspaceAccess" | "network">
> {
  readonly limits: { readonly memoryMb: number; readonly processes: number; readonly cpuSeconds: number };
  readonly docker: Required<SandboxFile["docker"]>;
}

export function toolsOf(
  { tools }: ConfigFile,
  home: string,
  models: { readonly [name: string]: LentKey },
  env: Env,
): ToolsConfig {
  const readRoots = tools.fs.readRoots.map((root) => expandPath(root, home));
  const { enabled, provider, maxResults, timeoutSeconds, cacheTtlMinutes } = tools.web.search;
  const providers = searchProvidersOf(tools.web.search, models, env);
  return {
    ...tools,
    exec: execOf(tools.exec, execDefaults),
    fs: { readRoots },
    web: {
      ...tools.web,
      search: {
        enabled,
        ...(provider === undefined ? {} : { provider }),
        maxResults,
        timeoutSeconds,
        cacheTtlMinutes,
        providers,
      },
    },
  };
}

export function toolsOfAgent({ tools }: AgentFile, all: ToolsConfig): AgentToolsConfig {
  return { byProvider: {}, ...tools, exec: execOf(tools?.exec ?? {}, all.exec) };
}

/** `security` is another name for `mode`; a file that says both is refused. */
function execOf({ security, ...own }: ExecFile, otherwise: ExecConfig): ExecConfig {
  return { ...otherwise, ...(security === undefined ? {} : { mode: security }), ...own };
}

/** What the agent's own block says, else what all agents have, else the default. */
export function sandboxOf(own: SandboxFile | undefined, ofAll?: SandboxFile): SandboxConfig {
  const { memoryMb, pidsLimit, cpuSeconds, ...rest } = { ...sandboxDefaults, ...ofAll, ...own };
  return {
    ...rest,
    limits: { memoryMb, processes: pidsLimit, cpuSeconds },
    docker: { ...sandboxDefaults.docker, ...ofAll?.docker, ...own?.docker },
  };
}
