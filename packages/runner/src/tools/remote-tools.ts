// Declares the port by which turns get the tools of other programs (MCP servers). They are under the same
// policy as Parley's own.
import type { Config } from "@parley/config";
import type { Sandbox, Tool } from "@parley/tools";

export interface RemoteTools {
  /** `sandbox` null: the agent's sandbox cannot be made, so nothing of it may run on the host either. */
  at(
    config: Config["mcp"],
    sandbox: Sandbox | null,
  ): Promise<{
    readonly tools: readonly Tool[];
    readonly unavailable: readonly { readonly tool: string; readonly reason: string }[];
  }>;
}
