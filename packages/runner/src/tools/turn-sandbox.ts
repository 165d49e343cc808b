// Opens the sandbox in which an agent's session works, where the config asks for one. One that cannot be had
// is no reason to work on the host: the reason comes back in its place.
import { join } from "node:path";
import type { SandboxFacts } from "@parley/agent";
import type { AgentConfig } from "@parley/config";
import { isFault, type Ids, type SessionKey } from "@parley/protocol";
import {
  catalogue,
  isSandboxed,
  networkWord,
  noSandbox,
  openSandbox,
  type ExecPorts,
  type MachinePorts,
  type Sandbox,
} from "@parley/tools";
import type { ToolsRequest } from "./tools-here.ts";

interface SandboxOptions {
  /** Absent where nothing runs. */
  readonly machine:
    | (Pick<MachinePorts, "wayOut"> & {
        /** The state folder. */
        readonly home: string;
        readonly exec?: Pick<ExecPorts, "host">;
      })
    | undefined;
  readonly readRoots: readonly string[];
  readonly hidden: readonly string[];
  readonly ids: Ids;
}

type OpenFor = (
  request: Pick<ToolsRequest, "agent" | "session">,
) => Promise<Sandbox | { readonly cannot: string }>;

export const noSearchPath = "";

export function sandboxOpener({ machine, readRoots, hidden, ids }: SandboxOptions): OpenFor {
  return async ({ agent, session }) => {
    const { workspace, sandbox } = agent;
    const host = machine?.exec?.host ?? {};
    if (
      machine === undefined ||
      !isSandboxed(sandbox.mode, session, [`agent:${agent.id}:main` as SessionKey])
    )
      return noSandbox(workspace, host["PATH"] ?? noSearchPath);
    const folder = join(machine.home, "sandboxes");
    const mark = (): string => ids.uuid();
    try {
      return await openSandbox(sandbox, {
        agent: agent.id,
        session,
        workspace,
        folder,
        readRoots,
        hidden,
        host,
        mark,
        wayOut: machine.wayOut,
      });
    } catch (error) {
      if (isFault(error)) return { cannot: error.message };
      throw error;
    }
  };
}

/** True for tools that need a folder or a process. */
export function needsSandbox(tool: string): boolean {
  const section = catalogue.find(({ id }) => id === tool)?.section;
  return section === "fs" || section === "runtime";
}

export function factsOf({ kind, inside }: Sandbox, { sandbox }: AgentConfig): SandboxFacts | undefined {
  if (kind === "none") return undefined;
  return {
    kind,
    containerWorkspace: inside,
    access: sandbox.workspaceAccess,
    network: networkWord(sandbox.network),
    elevated: false,
  };
}
