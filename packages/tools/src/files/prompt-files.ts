// Lists the files of a workspace that can enter prompts, as they are now.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promptFolders, promptNames } from "./guarded-paths.ts";
import { ignoring } from "./walk.ts";

/** Paths relative to the root; some may not exist. Of folders it lists only text files. */
export async function promptFiles(root: string, more: readonly string[]): Promise<readonly string[]> {
  const below = await Promise.all(
    [...new Set<string>([...promptFolders, ...more])].map((folder) => filesBelow(root, folder)),
  );
  return [...promptNames, ...below.flat().filter((path) => path.toLowerCase().endsWith(".md"))];
}

/**
 * However many there are: what is left out here would pass for older. Folders that are links are not entered.
 */
export async function filesBelow(root: string, folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  const open = [folder];
  while (open.length > 0) {
    const at = open.shift() ?? folder;
    const entries =
      (await readdir(join(root, at), { withFileTypes: true }).catch(
        ignoring("ENOENT", "EACCES", "ENOTDIR"),
      )) ?? [];
    for (const entry of entries) (entry.isDirectory() ? open : found).push(`${at}/${entry.name}`);
  }
  return found;
}
