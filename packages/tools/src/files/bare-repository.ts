// Recognises bare repositories: git takes a folder with these entries for one, whatever its name, and follows
// its settings and hooks.
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { ignoring } from "./walk.ts";

/** The second one has the rest where its commondir leads (gitrepository-layout(5)). */
const forms = [
  ["HEAD", "objects", "refs"],
  ["HEAD", "commondir"],
] as const;

/** `more`: a name that is about to be there. Any case counts. */
export async function isRepository(folder: string, more = ""): Promise<boolean> {
  const has = async (name: string): Promise<boolean> =>
    name.toLowerCase() === more.toLowerCase() || (await isThere(join(folder, name)));
  const whole = await Promise.all(
    forms.map(async (names) => !(await Promise.all(names.map(has))).includes(false)),
  );
  return whole.includes(true);
}

/**
 * The folder in which a file at `path` would be part of one, also where the file completes it; null where
 * there is none.
 */
export async function bareRepositoryAt(root: string, path: string): Promise<string | null> {
  const parts = path.split("/");
  for (const [depth, next] of parts.entries()) {
    const folder = parts.slice(0, depth).join("/");
    if (await isRepository(join(root, folder), next)) return folder === "" ? "the workspace" : folder;
  }
  return null;
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(ignoring("ENOENT", "ENOTDIR", "EACCES", "ENAMETOOLONG"))) !== null;
}
