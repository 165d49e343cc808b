// Looks after the sub-agents of this session: lists them, shows what one did, gives it guidance, ends it.
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import { defineTool, textResult, toldResult } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z
  .object({
    action: z.enum(["list", "log", "steer", "kill"]),
    target: z.string().min(1).max(200).optional().describe('Id or label; for kill also "all".'),
    message: z.string().min(1).max(20_000).optional().describe("For steer."),
    limit: z.number().int().min(1).max(100).default(20).describe("Entries of log, the newest."),
  })
  .refine(({ action, target }) => action === "list" || target !== undefined, {
    error: "this action needs a target",
  })
  .refine(({ action, message }) => action !== "steer" || message !== undefined, {
    error: "steer needs a message",
  });

export const subagentsListing: ToolListing = {
  name: "subagents",
  label: "Sub-agents",
  section: "sessions",
  profiles: ["coding"],
  effect: "writes",
  summary: "List, steer or kill your sub-agents",
};

export function subagents({ children }: ToolContext): Tool {
  return defineTool({
    ...subagentsListing,
    description:
      "Sub-agents of this session: list (state, time, tokens), log (what one did), steer (a message that joins its work), " +
      "kill (ends it and its own). Results come by themselves: use this on demand, not to wait.",
    args,
    keyed: true,
    async run({ action, target = "", message = "", limit }, scope) {
      if (action === "list") return textResult(await children.list(scope));
      if (action === "log") return toldResult(await children.log(scope, target, limit));
      if (action === "kill") return textResult(await children.kill(scope, target));
      const { text, effects } = await children.steer(scope, target, message);
      return { content: [{ type: "text", text }], ...(effects === undefined ? {} : { effects }) };
    },
  });
}
