// Changes passages of a file and leaves every other byte as it was: line endings, byte order mark, mode.
import { Fault } from "@parley/protocol";
import { z } from "zod";
import { readOnlyWorkspace, type Unavailable } from "../ports/done.ts";
import type { ToolContext } from "../context.ts";
import { defineTool, textResult } from "../define-tool.ts";
import { turnRules } from "../files/change-rules.ts";
import { editText, type TextEdit } from "../files/edit-text.ts";
import { refusePrivate } from "../files/private-notes.ts";
import { decodeText, encodeText } from "../files/text.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const passage = z.object({
  oldText: z.string().describe("The passage as it stands in the file, exactly once."),
  newText: z.string().describe("What stands in its place."),
});

const args = z
  .object({
    path: z.string().describe("Path in the workspace."),
    edits: z.array(passage).min(1).max(100).optional().describe("Several edits of this file."),
    ...passage.partial().shape,
  })
  .refine(
    ({ edits, oldText, newText }) =>
      edits === undefined ? oldText !== undefined && newText !== undefined : oldText === undefined,
    {
      error: "give oldText and newText, or edits",
    },
  );

export const editListing: ToolListing = {
  name: "edit",
  label: "Edit",
  section: "fs",
  profiles: ["coding"],
  effect: "writes",
  summary: "Make precise edits to files",
};

export function edit(context: ToolContext): Tool | Unavailable {
  const { files } = context;
  if (files.readOnly) return { unavailable: readOnlyWorkspace };
  return defineTool({
    ...editListing,
    description:
      "Replaces passages of a file of the workspace. Each oldText must match exactly, spaces included, and stand in the file once. " +
      "Several edits are all made or none, each against the file as it is now.",
    args,
    async run({ path, edits, oldText = "", newText = "" }, scope) {
      const workspace = await files.writable(await turnRules(context, scope, "edit"));
      const wanted: readonly TextEdit[] = edits ?? [{ oldText, newText }];
      return workspace.exclusive(async () => {
        const file = await workspace.readWhole(path);
        if (file === null) throw new Fault("missing", `there is no file ${path}; use write to create it`);
        await refusePrivate(context, scope, workspace, file.path);
        const text = decodeText(file.bytes);
        if (text === null) throw new Fault("invalid", `${file.path} is not UTF-8 text`);
        const edited = editText(text.text, text.newline, wanted);
        if (!edited.ok) return textResult(`Not changed, ${file.path}: ${edited.reason}.`, true);
        await workspace.replace(path, encodeText(edited.text, text.bom));
        return textResult(
          `Edited ${file.path} (${wanted.length === 1 ? "1 passage" : `${wanted.length} passages`}).`,
        );
      });
    },
  });
}
