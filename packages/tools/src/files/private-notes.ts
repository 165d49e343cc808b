// Keeps private notes out of shared places: a tool that reads a file for a conversation asks here first, by
// the path that was asked for and by the file that it led to.
import { join, relative } from "node:path";
import { Fault } from "@parley/protocol";
import type { ToolContext } from "../context.ts";
import type { ToolScope } from "../tool.ts";
import type { OpenFile, Rooted } from "./rooted.ts";
import { partsBelow } from "./walk.ts";

type Notes = Pick<ToolContext, "notes">;

/** The path below the agent's workspace; null elsewhere. */
export function inWorkspace(scope: Pick<ToolScope, "workspace">, root: string, path: string): string | null {
  const below = relative(scope.workspace, join(root, path));
  return below === "" || below === ".." || below.startsWith("../") ? null : below;
}

/** Throws Fault("denied") for notes that this conversation may not see. `path`: below the root. */
export async function refusePrivate(
  { notes }: Notes,
  scope: ToolScope,
  { root }: Pick<Rooted, "root">,
  path: string,
): Promise<void> {
  const below = inWorkspace(scope, root, path);
  const reason = below === null || notes === undefined ? null : await notes.refusal(scope, below);
  if (reason !== null) throw new Fault("denied", reason);
}

/** Opens a file that a model reads or sends. */
export async function readForPeople<T>(
  context: Pick<ToolContext, "files" | "notes">,
  scope: ToolScope,
  path: string,
  use: (file: OpenFile, files: Rooted) => Promise<T>,
): Promise<T> {
  const files = context.files.readable(path);
  const asked = partsBelow(files, path);
  // Before it is opened: whoever may not see a file does not learn whether it is there.
  if (asked !== null) await refusePrivate(context, scope, files, asked.join("/"));
  return files.withFile(path, async (file) => {
    await refusePrivate(context, scope, files, file.path);
    return use(file, files);
  });
}
