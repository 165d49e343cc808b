// Sends a message to another session. It is written with this call's result, in one transaction, and a call
// that waits for the answer gives the turn's slot back meanwhile.
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import { defineTool } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.strictObject({
  sessionKey: z.string().min(1).max(1_024).describe("A key, or the label or id of a running sub-agent."),
  message: z.string().min(1).max(50_000),
  reply: z
    .enum(["wait", "push", "none"])
    .default("wait")
    .describe("wait: the answer is this result. push: it comes here later by itself."),
  timeoutSeconds: z
    .number()
    .int()
    .min(1)
    .max(300)
    .default(30)
    .describe("Of wait; then the answer is pushed."),
});

export const sessionsSendListing: ToolListing = {
  name: "sessions_send",
  label: "Session send",
  section: "sessions",
  profiles: ["coding", "messaging"],
  effect: "sends",
  summary: "Send a message to another session",
};

export function sessionsSend({ sessions }: ToolContext): Tool {
  return defineTool({
    ...sessionsSendListing,
    description:
      "Sends a message to another session of this gateway, whose agent answers to this session: no chat sees it. " +
      "To write to people, answer them or use their channel.",
    args,
    keyed: true,
    async run({ sessionKey, ...request }, scope) {
      const { text, ...more } = await sessions.send(scope, { ...request, session: sessionKey });
      return { content: [{ type: "text", text }], ...more };
    },
  });
}
