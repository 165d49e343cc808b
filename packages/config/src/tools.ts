// tools.* and sandboxes as the rest of Parley reads them: every default filled, an agent's own settings merged with
// what all have.
import { expandPath } from "./home.ts";
import type { ConfigFile } from "./schema/root.ts";

type AgentFile = ConfigFile["agents"]["list"][number];
type ExecFile = ConfigFile["tools"]["exec"];
type SandboxFile = NonNullable<AgentFile["sandbox"]>;

/** `readRoots` are absolute. */
export interface ToolsConfig extends Omit<ConfigFile["tools"], "exec"> {
  readonly exec: ExecConfig;
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

/** Nothing runs that nobody named or approved. The time is what users of this field know. */
const defaultExec: ExecConfig = { mode: "allowlist", ask: "on-miss", allowlist: [], timeoutSeconds: 1_800 };

export function toolsOf({ tools }: ConfigFile, home: string): ToolsConfig {
  const readRoots = tools.fs.readRoots.map((root) => expandPath(root, home));
  return { ...tools, exec: execOf(tools.exec, defaultExec), fs: { readRoots } };
}

export function toolsOfAgent({ tools }: AgentFile, all: ToolsConfig): AgentToolsConfig {
  return { byProvider: {}, ...tools, exec: execOf(tools?.exec ?? {}, all.exec) };
}

function execOf(own: ExecFile, otherwise: ExecConfig): ExecConfig {
  return {
    mode: own.mode ?? own.security ?? otherwise.mode,
    ask: own.ask ?? otherwise.ask,
    allowlist: own.allowlist ?? otherwise.allowlist,
    timeoutSeconds: own.timeoutSeconds ?? otherwise.timeoutSeconds,
  };
}

/** `layers`: the agent's own first, then what all agents have. */
export function sandboxOf(...layers: readonly (SandboxFile | undefined)[]): SandboxConfig {
  const first = <Key extends keyof SandboxFile>(key: Key): SandboxFile[Key] | undefined =>
    layers.find((layer) => layer?.[key] !== undefined)?.[key];
  return {
    mode: first("mode") ?? "off",
    backend: first("backend") ?? "bubblewrap",
    scope: first("scope") ?? "agent",
    workspaceAccess: first("workspaceAccess") ?? "none",
    network: first("network") ?? false,
    limits: {
      memoryMb: first("memoryMb") ?? 1_024,
      processes: first("pidsLimit") ?? 256,
      cpuSeconds: first("cpuSeconds") ?? 600,
    },
    docker: {
      image:
        layers.map((layer) => layer?.docker.image).find((image) => image !== undefined) ??
        "debian:stable-slim",
    },
  };
}
