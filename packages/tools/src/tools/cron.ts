// Makes and looks after reminders and scheduled jobs. A job is written with this call's result, in one
// transaction: after a crash there is one job or none.
import { visibleText } from "@parley/protocol";
import { z } from "zod";
import { cronActions } from "../ports/schedules.ts";
import type { ToolContext } from "../context.ts";
import { defineTool } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

/** Loose on purpose: what is wrong with a job is told with its path and the fix, by those who keep jobs. */
const job = z
  .looseObject({
    name: z.string().optional(),
    schedule: z
      .looseObject({
        kind: z.enum(["at", "every", "cron", "watch"]).optional(),
        at: z
          .union([z.string(), z.number()])
          .optional()
          .describe('kind at: "2026-12-24T09:00" in tz, with Z or +01:00, or "20m" from now.'),
        everyMs: z.number().optional().describe("kind every."),
        every: z
          .union([z.string(), z.number()])
          .optional()
          .describe('kind every: "30m", in place of everyMs.'),
        anchorMs: z.number().optional(),
        expr: z.string().optional().describe("kind cron: five fields, six with seconds first, or @daily."),
        path: z.string().optional().describe("kind watch: a file, folder or pattern of the workspace."),
        debounce: z.string().optional().describe('kind watch: "5s".'),
        tz: z.string().optional().describe('"Europe/Berlin". Default: the time zone that you were told.'),
      })
      .optional(),
    sessionTarget: z
      .string()
      .optional()
      .describe("main | isolated | current | session:<key>. Default: main for a systemEvent, else isolated."),
    payload: z
      .looseObject({
        kind: z.enum(["systemEvent", "agentTurn"]).optional(),
        text: z.string().optional().describe("systemEvent."),
        message: z.string().optional().describe("agentTurn."),
        model: z.string().optional(),
        thinking: z.string().optional(),
        timeoutSeconds: z.number().optional(),
      })
      .optional(),
    wakeMode: z.enum(["now", "next-heartbeat"]).optional(),
    delivery: z
      .looseObject({
        mode: z.enum(["announce", "none", "webhook"]).optional(),
        to: z.string().optional().describe("A conversation, or the webhook's URL. Default: here."),
      })
      .optional(),
    misfire: z.enum(["latest", "all", "none"]).optional(),
    overlap: z.enum(["skip", "queue", "replace"]).optional(),
    maxRuns: z.number().optional(),
    deleteAfterRun: z.boolean().optional(),
    enabled: z.boolean().optional(),
  })
  .describe("A job; for update, only what changes.");

const args = z.object({
  action: z.enum(cronActions),
  job: job.optional().describe("add."),
  patch: job.optional().describe("update."),
  jobId: z.string().max(120).optional().describe("get, update, remove, run, runs: its id or name."),
  limit: z.number().int().min(1).max(100).default(20).describe("runs: how many."),
  text: z.string().max(16_000).optional().describe("wake: what the session is told."),
  mode: z.enum(["now", "next-heartbeat"]).default("now").describe("wake."),
});

export const cronListing: ToolListing = {
  name: "cron",
  label: "Cron",
  section: "automation",
  profiles: ["coding"],
  effect: "writes",
  summary: "Manage reminders, scheduled jobs and wake events",
};

export function cron({ schedules }: ToolContext): Tool {
  return defineTool({
    ...cronListing,
    description: `Manage scheduled jobs and wake events; use it for reminders.
Actions: status | list | get {jobId} | add {job} | update {jobId, patch} | remove {jobId} | run {jobId} (now) | runs {jobId} (history) | wake {text, mode}.
A job is { name, schedule, payload, sessionTarget?, delivery?, wakeMode? }.
schedule: { kind: "at", at } once | { kind: "every", everyMs } | { kind: "cron", expr, tz? } | { kind: "watch", path, debounce? } when files change.
payload: { kind: "systemEvent", text } tells a session something | { kind: "agentTurn", message, model?, thinking?, timeoutSeconds? } runs you in a session of its own, where you see nothing of this conversation.
delivery: { mode: "announce" } tells the answer here (the default) | { mode: "none" } | { mode: "webhook", to: URL }.
Constraints: sessionTarget "main" requires payload.kind "systemEvent"; "isolated" requires "agentTurn".
When scheduling a reminder, write the systemEvent text as something that will read like a reminder when it fires, and mention that it is a reminder depending on the time gap between setting and firing; include recent context in reminder text if appropriate.`,
    args,
    keyed: true,
    // What it plans runs later in a turn that has read nothing, perhaps for a webhook.
    outside: ({ action, ...rest }) =>
      action === "add" || action === "update" || action === "wake"
        ? `${action}\n${visibleText(JSON.stringify(rest))}`
        : null,
    async run(request, scope) {
      const { text, effects } = await schedules.act(scope, request);
      return { content: [{ type: "text", text }], ...(effects === undefined ? {} : { effects }) };
    },
  });
}
