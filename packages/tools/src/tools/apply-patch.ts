// Applies a patch over several files: all of it or none. Everything is worked out in memory first; then the
// files change as one.
import { normalize } from "node:path/posix";
import { Fault } from "@parley/protocol";
import { z } from "zod";
import { readOnlyWorkspace, type Unavailable } from "../ports/done.ts";
import type { ToolContext } from "../context.ts";
import { defineTool, textResult } from "../define-tool.ts";
import { turnRules } from "../files/change-rules.ts";
import { applyChanges, type Change } from "../files/change-set.ts";
import { parsePatch, type FilePatch } from "../files/patch-parse.ts";
import { patchText } from "../files/patch-text.ts";
import { refusePrivate } from "../files/private-notes.ts";
import type { Rooted } from "../files/rooted.ts";
import { decodeText, encodeText } from "../files/text.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.object({ input: z.string().max(4_000_000).describe("The whole patch.") });

export const applyPatchListing: ToolListing = {
  name: "apply_patch",
  label: "Apply patch",
  section: "fs",
  profiles: ["coding"],
  effect: "writes",
  summary: "Apply multi-file patches",
};

export function applyPatch(context: ToolContext): Tool | Unavailable {
  const { files } = context;
  if (files.readOnly) return { unavailable: readOnlyWorkspace };
  return defineTool({
    ...applyPatchListing,
    description:
      'Changes several files of the workspace at once, all or none. The patch: "*** Begin Patch", then for each file "*** Add File: path" ' +
      'with "+" lines, "*** Delete File: path", or "*** Update File: path" (then optionally "*** Move to: path") with hunks: "@@" or "@@ a line ' +
      'above it", lines that stay begin with a space, removed ones with "-", new ones with "+"; a hunk that ends at the file\'s end may close ' +
      'with "*** End of File". Last line: "*** End Patch". Give three lines of context around a change.',
    args,
    async run({ input }, scope) {
      const patches = parsePatch(input);
      const workspace = await files.writable(await turnRules(context, scope, "apply_patch"));
      return workspace.exclusive(async () => {
        const worked: { readonly changes: readonly Change[]; readonly line: string }[] = [];
        for (const patch of patches)
          worked.push(
            await workOut(workspace, patch, (path) => refusePrivate(context, scope, workspace, path)),
          );
        const changes = worked.flatMap((each) => each.changes);
        const paths = changes.map((change) => change.path);
        const twice = paths.find((path, index) => paths.indexOf(path) !== index);
        if (twice !== undefined)
          throw new Fault("invalid", `two parts of the patch change ${twice}; put them under one header`);
        await applyChanges(workspace, changes);
        return textResult(["Applied:", ...worked.map(({ line }) => line)].join("\n"));
      });
    },
  });
}

async function workOut(
  workspace: Rooted,
  patch: FilePatch,
  mayRead: (path: string) => Promise<void>,
): Promise<{ readonly changes: readonly Change[]; readonly line: string }> {
  const { path } = patch;
  const file = await workspace.readWhole(path);
  if (patch.kind === "add") {
    if (file !== null) throw new Fault("invalid", `${path} is there already; update it`);
    const after = Buffer.from(patch.lines.map((line) => `${line}\n`).join(""));
    return { changes: [{ path: normalize(path), before: null, after }], line: `A ${path}` };
  }
  if (file === null) throw new Fault("missing", `there is no file ${path}`);
  await mayRead(file.path);
  if (patch.kind === "delete")
    return { changes: [{ path: file.path, before: file.bytes, after: null }], line: `D ${path}` };
  const text = decodeText(file.bytes);
  if (text === null) throw new Fault("invalid", `${path} is not UTF-8 text`);
  const after = encodeText(patchText(path, text.text, text.newline, patch.hunks), text.bom);
  const { moveTo } = patch;
  if (moveTo === undefined)
    return { changes: [{ path: file.path, before: file.bytes, after }], line: `M ${path}` };
  if ((await workspace.readWhole(moveTo)) !== null)
    throw new Fault("invalid", `${moveTo} is there already; nothing may be moved over it`);
  return {
    changes: [
      { path: normalize(moveTo), before: null, after },
      { path: file.path, before: file.bytes, after: null },
    ],
    line: `M ${path} -> ${moveTo}`,
  };
}
