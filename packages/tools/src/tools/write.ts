// Writes a whole file, new or in the place of what was there.
import { z } from "zod";
import { readOnlyWorkspace, type ToolContext, type Unavailable } from "../context.ts";
import { defineTool, textResult } from "../define-tool.ts";
import { turnRules } from "../files/change-rules.ts";
import type { Tool } from "../tool.ts";

const args = z.object({
  path: z.string().describe("Path in the workspace."),
  content: z.string().describe("The whole text of the file."),
});

export function write(context: ToolContext): Tool | Unavailable {
  const { files } = context;
  if (files.readOnly) return { unavailable: readOnlyWorkspace };
  return defineTool({
    name: "write",
    summary: "Create or overwrite files",
    description:
      "Writes a file of the workspace: creates it with its folders, or replaces what it held. To change a part of a file use edit.",
    args,
    effect: "writes",
    async run({ path, content }, scope) {
      const workspace = await files.writable(await turnRules(context, scope));
      const bytes = Buffer.from(content);
      const written = await workspace.exclusive(() => workspace.replace(path, bytes));
      return textResult(
        `${written.created ? "Created" : "Replaced"} ${written.path} (${bytes.length} bytes).`,
      );
    },
  });
}
