// Reads what was said in another session.
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import { defineTool, toldResult } from "../define-tool.ts";
import { pageBytes } from "../result-size.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.strictObject({
  sessionKey: z.string().min(1).max(1_024).describe("A key, or the label or id of a sub-agent."),
  before: z.number().int().min(1).optional().describe("The page before this entry."),
  limit: z.number().int().min(1).max(200).default(50).describe("Entries, the newest."),
  includeTools: z.boolean().default(false).describe("With tool calls and results."),
});

export const sessionsHistoryListing: ToolListing = {
  name: "sessions_history",
  label: "Session history",
  section: "sessions",
  profiles: ["coding", "messaging"],
  effect: "reads",
  summary: "Read another session's history",
};

export function sessionsHistory({ sessions, resultBytes }: ToolContext): Tool {
  return defineTool({
    ...sessionsHistoryListing,
    description:
      "Shows what was said in a session's present conversation, without secrets, the newest last; before=N turns to earlier pages.",
    args,
    run: async ({ sessionKey, includeTools, ...request }, scope) =>
      toldResult(
        await sessions.history(scope, {
          ...request,
          session: sessionKey,
          calls: includeTools,
          maxBytes: pageBytes(resultBytes),
        }),
      ),
  });
}
