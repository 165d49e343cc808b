// A tool that answers with a text.
import { defineTool, textResult, type Tool } from "@parley/tools";
import { z } from "zod";

export function textTool(name: string, text: (args: unknown) => string): Tool {
  return defineTool({
    name,
    summary: name,
    description: name,
    args: z.looseObject({}),
    effect: "reads",
    run: async (args) => textResult(text(args)),
  });
}
