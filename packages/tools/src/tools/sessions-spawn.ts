// Hands a task to a sub-agent, which works in a session of its own. The child's first row is written with
// this call's result, in one transaction: after a crash there is one child or none.
import { thinkingLevels } from "@parley/protocol";
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import { defineTool } from "../define-tool.ts";
import { readForPeople } from "../files/private-notes.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.object({
  task: z
    .string()
    .min(1)
    .max(50_000)
    .describe("All that it needs to know: it sees nothing of this conversation."),
  label: z.string().min(1).max(60).optional().describe("A short name for it."),
  agentId: z.string().min(1).max(64).optional().describe("Another agent, if this one may use it."),
  model: z.string().min(1).max(200).optional().describe("PROVIDER/MODEL or an alias."),
  thinking: z.enum(thinkingLevels).optional(),
  runTimeoutSeconds: z.number().int().min(1).max(86_400).optional(),
  context: z
    .enum(["isolated", "fork"])
    .default("isolated")
    .describe("fork: it is told this conversation too."),
  attachments: z
    .array(z.string().min(1).max(500))
    .max(50)
    .default([])
    .describe("Files of the workspace for it."),
  mode: z
    .enum(["run", "session"])
    .optional()
    .describe("session: it may be given more work when it is done. Absent: run, with thread session."),
  thread: z
    .boolean()
    .default(false)
    .describe(
      "Only in a Discord server or a Telegram forum: it works in a new thread, and people talk with it there.",
    ),
});

/** A file that is not there, or not to be read, would be found missing only by the sub-agent. */
async function asFound(): Promise<void> {}

export const sessionsSpawnListing: ToolListing = {
  name: "sessions_spawn",
  label: "Spawn",
  section: "sessions",
  profiles: ["coding"],
  effect: "writes",
  summary: "Spawn a sub-agent in its own session",
};

export function sessionsSpawn(context: ToolContext): Tool {
  const { children } = context;
  return defineTool({
    ...sessionsSpawnListing,
    description:
      "Gives a task to a sub-agent, which works beside this conversation with the same tools or fewer. Returns at once: " +
      "when it ends, a [System Message] with its result comes here by itself, so do not poll for it.",
    args,
    keyed: true,
    async run({ runTimeoutSeconds, ...request }, scope) {
      const isOwn = request.agentId === undefined || request.agentId === scope.agent;
      for (const path of isOwn ? request.attachments : []) await readForPeople(context, scope, path, asFound);
      const { text, effects } = await children.spawn(scope, {
        ...request,
        mode: request.mode ?? (request.thread ? "session" : "run"),
        timeoutSeconds: runTimeoutSeconds,
      });
      return { content: [{ type: "text", text }], ...(effects === undefined ? {} : { effects }) };
    },
  });
}
