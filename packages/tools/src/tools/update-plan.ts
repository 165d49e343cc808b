// Keeps the plan of a longer piece of work, so that it survives what the context forgets and a person can
// look at it.
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import { defineTool, textResult } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const step = z.object({
  step: z.string().min(1).max(500),
  status: z.enum(["pending", "in_progress", "completed"]),
});

const args = z.object({
  explanation: z.string().max(2_000).optional().describe("Why the plan changed."),
  plan: z
    .array(step)
    .min(1)
    .max(50)
    .refine((steps) => steps.filter(({ status }) => status === "in_progress").length <= 1, {
      error: "at most one step may be in_progress",
    }),
});

export const updatePlanListing: ToolListing = {
  name: "update_plan",
  label: "Plan",
  section: "agents",
  profiles: ["coding"],
  effect: "writes",
  summary: "Keep a plan for multi-step work",
};

export function updatePlan({ plans }: ToolContext): Tool {
  return defineTool({
    ...updatePlanListing,
    description:
      "Replaces the plan of the work at hand. Only for work of several steps; at most one step is in_progress, and the plan is not repeated in the answer.",
    args,
    async run({ explanation, plan }, scope) {
      await plans.save(scope, { steps: plan, ...(explanation === undefined ? {} : { explanation }) });
      const done = plan.filter(({ status }) => status === "completed").length;
      return textResult(`Plan kept: ${done} of ${plan.length} steps done.`);
    },
  });
}
