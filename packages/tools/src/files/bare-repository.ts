// git takes a folder with these three for a repository, whatever it is called, and follows its settings and hooks.
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { ignoring } from "./walk.ts";

export const bareParts = ["HEAD", "objects", "refs"] as const;

/** The folder in which a file at `path` would be part of one, also where the file completes it; null where there is none. */
export async function bareRepositoryAt(root: string, path: string): Promise<string | null> {
  const parts = path.split("/");
  for (const [depth, next] of parts.entries()) {
    const folder = parts.slice(0, depth).join("/");
    const there = await Promise.all(
      bareParts.map(async (name) => name.toLowerCase() === next.toLowerCase() || (await isThere(join(root, folder, name)))),
    );
    if (!there.includes(false)) return folder === "" ? "the workspace" : folder;
  }
  return null;
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(ignoring("ENOENT", "ENOTDIR"))) !== null;
}
