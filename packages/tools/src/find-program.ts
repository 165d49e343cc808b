// Finds a program as a shell does, but once, so that the checked program runs even if the folders of the
// search path change later.
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { ignoring } from "./files/walk.ts";

/**
 * Absolute; null when no folder of `path` has an executable file of that name. Relative folders are left out:
 * they would mean the workspace.
 */
export async function findProgram(name: string, path: string): Promise<string | null> {
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const candidate = join(folder, name);
    if (await isExecutable(candidate)) return candidate;
  }
  return null;
}

async function isExecutable(file: string): Promise<boolean> {
  const found = await stat(file).catch(ignoring("ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG"));
  if (found?.isFile() !== true) return false;
  return access(file, constants.X_OK).then(
    () => true,
    () => false, // Not for us: the next folder is asked.
  );
}
