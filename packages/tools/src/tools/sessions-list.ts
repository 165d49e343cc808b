// Lists the sessions that this one may see.
import { sessionKinds } from "@parley/protocol";
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import { defineTool, toldResult } from "../define-tool.ts";
import { pageBytes } from "../result-size.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.strictObject({
  kinds: z.array(z.enum(sessionKinds)).min(1).max(8).optional().describe("Absent: all."),
  activeMinutes: z.number().int().min(1).max(525_600).optional().describe("Used in the last minutes."),
  limit: z.number().int().min(1).max(200).default(20),
  messageLimit: z.number().int().min(0).max(20).default(0).describe("Last messages of each."),
});

export const sessionsListListing: ToolListing = {
  name: "sessions_list",
  label: "Sessions",
  section: "sessions",
  profiles: ["coding", "messaging"],
  effect: "reads",
  summary: "List other sessions and sub-agents",
};

export function sessionsList({ sessions, resultBytes }: ToolContext): Tool {
  return defineTool({
    ...sessionsListListing,
    description:
      "Lists the sessions that may be seen from here, the most recently used first: key, kind, channel, who, when, tokens, working or idle.",
    args,
    run: async ({ messageLimit, ...request }, scope) =>
      toldResult(
        await sessions.list(scope, { ...request, messages: messageLimit, maxBytes: pageBytes(resultBytes) }),
      ),
  });
}
