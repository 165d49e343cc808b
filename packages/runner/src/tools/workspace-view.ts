// Says which folders of a workspace hold prompts and skills, and shares one view of each among turns.
import { join, relative, sep } from "node:path";
import type { Config } from "@parley/config";
import {
  promptFolders,
  promptNames,
  workspaceFiles,
  type WorkspaceFiles,
  type WorkspaceFilesOptions,
} from "@parley/tools";

/**
 * Lists what the config puts into prompts: folders of skills in the workspace, and workspaces of other agents
 * in it.
 */
export function promptPathsIn({ skills, agents }: Config, workspace: string): readonly string[] {
  const others = agents.list.flatMap((other) =>
    [...promptNames, ...promptFolders].map((name) => join(other.workspace, name)),
  );
  const below = [...skills.load.extraDirs, ...others].map((path) =>
    relative(workspace, path).split(sep).join("/"),
  );
  return below.filter((path) => path !== "" && !path.startsWith("../"));
}

/**
 * Relative to the workspace. A prompt lists the skills there, so tools may read them even where a sandbox
 * hides the rest.
 */
export function skillFolders(workspace: string, readRoots: readonly string[]): readonly string[] {
  const below = readRoots.map((path) => relative(workspace, path).split(sep).join("/"));
  return [
    "skills",
    ".agents/skills",
    ...below.filter((path) => path !== "" && path !== ".." && !path.startsWith("../")),
  ];
}

/** Shares one instance for each folder and view, because it queues the changes to a folder. */
export function filesByFolder(): (options: WorkspaceFilesOptions) => WorkspaceFiles {
  const known = new Map<string, WorkspaceFiles>();
  return (options) => {
    const key = JSON.stringify(options);
    const found = known.get(key) ?? workspaceFiles(options);
    known.set(key, found);
    return found;
  };
}
