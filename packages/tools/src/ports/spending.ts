// The port to the limits of what may be spent.
import type { Usage } from "@parley/protocol";
import type { ToolScope } from "../tool.ts";

/** What calls spend beside their turn's own model calls: for the agent's limits, and for the usage report. */
export interface Spending {
  /** Throws Fault("denied") when a limit is reached. `used`: what was spent, and for which model. */
  around<T>(
    scope: ToolScope,
    use: (used: (usage: Usage, model: string) => Promise<void>) => Promise<T>,
  ): Promise<T>;
}
