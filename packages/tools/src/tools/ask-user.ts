// Asks the people whose words the turn follows, and waits for their answer. The question is shown with this
// call's first write; the turn then parks without a slot, and the call runs again when somebody answered.
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import { defineTool } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.object({
  question: z.string().min(1).max(2_000),
  options: z
    .array(z.string().min(1).max(80))
    .max(25)
    .default([])
    .describe("Answers to choose from. Without options and fields the answer is written freely."),
  fields: z
    .array(
      z.object({
        label: z.string().min(1).max(45),
        long: z.boolean().default(false).describe("For several lines."),
      }),
    )
    .max(5)
    .default([])
    .describe("A form to fill in, in place of options."),
  minutes: z.number().int().min(1).max(1_440).default(30).describe("How long to wait."),
});

export const askUserListing: ToolListing = {
  name: "ask_user",
  label: "Ask",
  section: "messaging",
  profiles: ["coding", "messaging"],
  effect: "sends",
  summary: "Ask the user a question and wait for the answer",
};

export function askUser({ questions }: ToolContext): Tool {
  return defineTool({
    ...askUserListing,
    description:
      "Shows a question in this conversation, with buttons or a menu for options, and waits for the answer, which is the result. " +
      "Ask when you cannot go on without it; do not repeat the question in your own words.",
    args,
    keyed: true,
    endsPreview: true,
    async run(request, scope) {
      const { text, effects, waitsFor } = await questions.ask(scope, request);
      return {
        content: [{ type: "text", text }],
        ...(effects === undefined ? {} : { effects }),
        ...(waitsFor === undefined ? {} : { waitsFor }),
      };
    },
  });
}
