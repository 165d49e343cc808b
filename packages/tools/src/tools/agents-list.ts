// Lists the agents that sub-agents may be.
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import { defineTool, textResult } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

/** Made once: a schema is written out for each object that it is. */
const args = z.strictObject({});

export const agentsListListing: ToolListing = {
  name: "agents_list",
  label: "Agents",
  section: "agents",
  profiles: [],
  effect: "reads",
  summary: "List agents allowed for sessions_spawn",
};

export function agentsList({ children }: ToolContext): Tool {
  return defineTool({
    ...agentsListListing,
    description: "Lists the agents that sessions_spawn may use here, by id.",
    args,
    run: async (_args, scope) => textResult(children.agents(scope).join("\n")),
  });
}
