// Describes the tools of a turn for its agent and place: what the model sees, what is refused to the people
// who ask, and why the rest is not there.
import type { Speakers } from "@parley/access";
import type { SandboxFacts } from "@parley/agent";
import type { AgentConfig } from "@parley/config";
import type { Model } from "@parley/models";
import type { SessionKey } from "@parley/protocol";
import type { ExecPolicy, PolicyDecision, Tool, ToolRules, WorkspaceFiles } from "@parley/tools";

export interface ToolsRequest {
  readonly agent: AgentConfig;
  readonly session: SessionKey;
  /** The place's rules, outermost first. */
  readonly places: readonly ToolRules[];
  readonly by: Speakers;
  readonly model: Pick<Model, "id" | "vision" | "contextWindow">;
}

export interface ToolsHere {
  /**
   * The tools that the model sees. In a shared session they are the same whoever asks, because every change
   * would cost the provider's cache (I12).
   */
  readonly tools: readonly Tool[];
  /** Those of `tools` that the people who ask may not use, with the reason; a call of one is refused. */
  readonly refused: ReadonlyMap<string, string>;
  /** Explains why existing tools may not be used, and why none is left. */
  readonly decision: PolicyDecision;
  /** Tools that this machine cannot provide at all, and those that the model's window has no room for. */
  readonly unavailable: readonly { readonly tool: string; readonly reason: string }[];
  /** The files that the tools work on: the agent's workspace, or its sandbox's folder. */
  readonly files: WorkspaceFiles;
  readonly sandbox: SandboxFacts | undefined;
  /** Which commands may run. */
  readonly execPolicy: ExecPolicy;
}

export interface EffectiveTools {
  at(request: ToolsRequest): Promise<ToolsHere>;
}
