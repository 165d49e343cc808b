// Looks up tools whose schemas the model was not told, because all of them would fill its prompt. What it
// finds is told from the next model call on, at the end of the list, for the rest of the conversation.
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import type { Unavailable } from "../ports/done.ts";
import { defineTool, textResult } from "../define-tool.ts";
import { findTools } from "../tool-index.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.object({
  query: z
    .string()
    .min(1)
    .max(500)
    .describe('Words for what is to be done, or "select:NAME,NAME" for tools whose names are known.'),
  limit: z.number().int().min(1).max(20).default(8).describe("Most tools that are loaded."),
});

export const toolSearchListing: ToolListing = {
  name: "tool_search",
  label: "Tool search",
  section: "agents",
  profiles: ["coding", "messaging"],
  effect: "reads",
  summary: "Find and load tools that are listed by name alone",
};

const descriptionChars = 200;
const exactly = /^select:/i;

export function toolSearch({ deferred, loadedTools }: ToolContext): Tool | Unavailable {
  if (deferred === undefined)
    return { unavailable: "all tools are told to the model as they are (mcp.toolSearch)" };
  return defineTool({
    ...toolSearchListing,
    description:
      "Finds tools by words, and loads them: their schemas are there from your next step on, and they can be called by their names like all others. Use it before you say that something cannot be done.",
    args,
    async run({ query, limit }, scope) {
      const found = exactly.test(query)
        ? named(deferred, query.replace(exactly, "")).slice(0, limit)
        : findTools(deferred, query, limit);
      if (found.length === 0)
        return textResult(
          `Nothing of ${deferred.length} tools fits ${JSON.stringify(query)}. Try other words.`,
        );
      await loadedTools.load(
        scope,
        found.map(({ name }) => name),
      );
      return textResult(["Loaded, to be called by these names:", ...found.map(lineOf)].join("\n"));
    },
  });
}

function named(tools: readonly Tool[], names: string): readonly Tool[] {
  const wanted = names.split(",").map((name) => name.trim().toLowerCase());
  return tools.filter(({ name }) => wanted.includes(name.toLowerCase()));
}

function lineOf({ name, description }: Tool): string {
  const line = description.replaceAll(/\s+/g, " ");
  const short = line.length <= descriptionChars ? line : `${line.slice(0, descriptionChars).toWellFormed()}…`;
  return `- ${name}: ${short}`;
}
