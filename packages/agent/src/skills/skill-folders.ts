// Finds the skills of a root: folders that hold a SKILL.md, down to a depth, never through a link that leads
// out of the root. A skill's own folder is not searched further. The order is fixed, so that equal folders
// give equal prompts (I12). Every turn looks, so folders are read synchronously, in microseconds; asking a
// thread for each takes ten times that.
import { readdirSync, statSync } from "node:fs";
import { readdir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";

/** Levels of folders below a root. */
const deepest = 6;

export interface FolderSearch {
  /** Absolute paths of SKILL.md files, real or links that stay inside. */
  readonly files: readonly string[];
  readonly refused: readonly { readonly file: string; readonly reason: string }[];
  /** There were more folders than are looked at. */
  readonly cut: boolean;
}

const never = new Set(["node_modules", "__MACOSX", "__pycache__"]);

/** A root that is not there has no skills; one that cannot be read is refused with the reason. */
export async function skillFolders(root: string, mostFolders: number): Promise<FolderSearch> {
  const files: string[] = [];
  const refused: { file: string; reason: string }[] = [];
  let looked = 0;
  let cut = false;

  async function look(folder: string, depth: number): Promise<void> {
    let entries;
    try {
      // Most roots are not there, and an exception costs ten times this look.
      if (depth === 0 && statSync(folder, { throwIfNoEntry: false }) === undefined) return;
      entries = readdirSync(folder, { withFileTypes: true });
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== "ENOENT" && code !== "ENOTDIR")
        refused.push({ file: folder, reason: `the folder cannot be read: ${code ?? String(error)}` });
      return;
    }
    const names = entries.map(({ name }) => name);
    const own = ["SKILL.md", "skill.md"].find((name) => names.includes(name));
    if (own !== undefined) files.push(join(folder, own));
    if (own !== undefined && depth > 0) return;
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith(".") || never.has(entry.name)) continue;
      const path = join(folder, entry.name);
      if (!entry.isDirectory() && !(entry.isSymbolicLink() && (await leadsInside(root, path)))) {
        // A link to nowhere, or out: said only where there is a skill behind it.
        if (entry.isSymbolicLink() && (await hasSkill(path)))
          refused.push({
            file: path,
            reason:
              "it is a link that leads out of its root; name the folder in skills.load.extraDirs instead",
          });
        continue;
      }
      if (looked >= mostFolders) {
        cut = true;
        return;
      }
      looked += 1;
      if (depth < deepest) await look(path, depth + 1);
    }
  }

  await look(root, 0);
  return { files, refused, cut };
}

/** A folder that links to itself or to a folder above is no new place. */
async function leadsInside(root: string, path: string): Promise<boolean> {
  try {
    const [realRoot, real] = await Promise.all([realpath(root), realpath(path)]);
    return real.startsWith(realRoot + sep) && !`${path}${sep}`.startsWith(real + sep);
  } catch {
    // A link to nowhere leads nowhere.
    return false;
  }
}

async function hasSkill(path: string): Promise<boolean> {
  const names = await readdir(path).catch((): string[] => []);
  return names.includes("SKILL.md") || names.includes("skill.md");
}
