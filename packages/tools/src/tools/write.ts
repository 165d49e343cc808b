// Writes a whole file, new or in the place of what was there.
import { z } from "zod";
import { readOnlyWorkspace, type Unavailable } from "../ports/done.ts";
import type { ToolContext } from "../context.ts";
import { defineTool, textResult } from "../define-tool.ts";
import { turnRules } from "../files/change-rules.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.object({
  path: z.string().describe("Path in the workspace."),
  content: z.string().describe("The whole text of the file."),
});

export const writeListing: ToolListing = {
  name: "write",
  label: "Write",
  section: "fs",
  profiles: ["coding"],
  effect: "writes",
  summary: "Create or overwrite files",
};

export function write(context: ToolContext): Tool | Unavailable {
  const { files } = context;
  if (files.readOnly) return { unavailable: readOnlyWorkspace };
  return defineTool({
    ...writeListing,
    description:
      "Writes a file of the workspace: creates it with its folders, or replaces what it held. To change a part of a file use edit.",
    args,
    async run({ path, content }, scope) {
      const workspace = await files.writable(await turnRules(context, scope, "write"));
      const bytes = Buffer.from(content);
      const written = await workspace.exclusive(() => workspace.replace(path, bytes));
      return textResult(
        `${written.created ? "Created" : "Replaced"} ${written.path} (${bytes.length} bytes).`,
      );
    },
  });
}
