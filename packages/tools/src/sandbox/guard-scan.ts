// Looks through a workspace for what a command in a sandbox may not change: guarded paths, git's folders whatever
// they are called, and files that have another name (hard links). Links are not followed, only told where they lead.
import type { Stats } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { bareParts } from "../files/bare-repository.ts";
import { guardOf, ownFolder } from "../files/guarded-paths.ts";
import { ignoring } from "../files/walk.ts";

export interface GuardScan {
  /** By path: which file it is. */
  readonly guarded: ReadonlyMap<string, string>;
  /** To be mounted read-only: they, and where links of theirs lead. */
  readonly readOnly: readonly string[];
  /** Files to be hidden. */
  readonly masked: readonly string[];
  /** There is more than is looked at, or can be mounted: then nothing of it may be writable. */
  readonly tooMuch: boolean;
}

/** bubblewrap takes half a second for so many. */
const mostMounts = 500;
const mostEntries = 200_000;
/** Package managers link all files of a package or none. */
const packageSample = 200;

export interface ScanRequest {
  readonly root: string;
  readonly alsoPrompt: readonly string[];
  /** Folders that no command sees, absolute. */
  readonly hidden: readonly string[];
}

export async function scanGuarded({ root, alsoPrompt, hidden }: ScanRequest): Promise<GuardScan> {
  const realRoot = await realpath(root);
  const unseen = new Set(await Promise.all(hidden.map((path) => realpath(path).catch(() => path)))); // Not there: not seen.
  const guarded = new Map<string, string>();
  const readOnly = new Set<string>();
  /** Files with several names, and those names of them that were met. */
  const linked = new Map<string, { readonly names: number; readonly paths: string[] }>();
  let entries = 0;

  async function guard(path: string, stat: Stats): Promise<void> {
    guarded.set(path, identityOf(stat));
    if (!stat.isSymbolicLink()) return void readOnly.add(path);
    const target = await realpath(join(realRoot, path)).catch(ignoring("ENOENT", "ENOTDIR", "ELOOP", "EACCES"));
    const below = target === null ? "" : relative(realRoot, target);
    if (below !== "" && !below.startsWith("..")) readOnly.add(below);
  }

  /** Returns the folders in it. */
  async function look(folder: string): Promise<readonly string[]> {
    const found = await readdir(join(realRoot, folder), { withFileTypes: true }).catch(ignoring("ENOENT", "ENOTDIR", "EACCES"));
    if (found === null) return [];
    entries += found.length;
    const names = new Set(found.map(({ name }) => name));
    const isRepository = folder !== "" && bareParts.every((name) => names.has(name));
    if (isRepository) {
      const stat = await statOf(folder);
      if (stat !== null) await guard(folder, stat);
      return [];
    }
    const inPackages = folder.split("/").includes("node_modules");
    const folders = await Promise.all(
      found.map(async (entry): Promise<readonly string[]> => {
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
        if (unseen.has(join(realRoot, path))) return [];
        const isGuarded = guardOf(path, alsoPrompt) !== null;
        if (!isGuarded && entry.isDirectory()) return [path];
        if (!isGuarded && (inPackages || !entry.isFile())) return [];
        const stat = await statOf(path);
        if (stat === null) return [];
        const isLinked = stat.isFile() && stat.nlink > 1;
        if (isGuarded) await guard(path, stat);
        else if (isLinked) {
          const known = linked.get(identityOf(stat)) ?? { names: stat.nlink, paths: [] };
          linked.set(identityOf(stat), { ...known, paths: [...known.paths, path] });
        }
        return [];
      }),
    );
    return folders.flat();
  }

  const statOf = (path: string): Promise<Stats | null> => lstat(join(realRoot, path)).catch(ignoring("ENOENT", "ENOTDIR", "EACCES"));

  let level: readonly string[] = [""];
  while (level.length > 0 && entries <= mostEntries) {
    const next: string[] = [];
    // Some at a time: a wide level must not open thousands of folders at once.
    for (let at = 0; at < level.length && entries <= mostEntries; at += 16) {
      const found = (await Promise.all(level.slice(at, at + 16).map(look))).flat();
      for (const path of found) {
        if (path.endsWith("node_modules") && (await hasLinks(join(realRoot, path)))) readOnly.add(path);
        next.push(path);
      }
    }
    level = next;
  }
  const mounted = outermost([...readOnly]);
  // Builds link within the workspace; only a name that was not met may lie outside.
  const masked = [...linked.values()].flatMap(({ names, paths }) => (paths.length < names ? paths : []));
  return { guarded, readOnly: mounted, masked, tooMuch: entries > mostEntries || mounted.length + masked.length > mostMounts };
}

const link = "link ";

function identityOf(stat: Stats): string {
  return `${stat.isSymbolicLink() ? link : ""}${stat.dev}:${stat.ino}`;
}

/** Of what cannot have been replaced or renamed by a command, because it is mounted; a folder above it can. */
export function isMounted(identity: string): boolean {
  return !identity.startsWith(link);
}

/** Of the first files of a folder of packages: their other names lie in a store that all projects of the machine share. */
async function hasLinks(folder: string): Promise<boolean> {
  let seen = 0;
  const open = [folder];
  while (open.length > 0 && seen < packageSample) {
    const at = open.shift() ?? "";
    for (const entry of (await readdir(at, { withFileTypes: true }).catch(ignoring("ENOENT", "ENOTDIR", "EACCES"))) ?? []) {
      if (entry.isDirectory()) open.push(join(at, entry.name));
      if (!entry.isFile()) continue;
      seen += 1;
      const stat = await lstat(join(at, entry.name)).catch(ignoring("ENOENT", "ENOTDIR"));
      if (stat !== null && stat.nlink > 1) return true;
      if (seen >= packageSample) break;
    }
  }
  return false;
}

/** Without those below another of them. Parley's own folder first: it holds what is read back. */
function outermost(paths: readonly string[]): readonly string[] {
  const sorted = paths.toSorted((a, b) => (a < b ? -1 : 1));
  return sorted
    .filter((path) => !sorted.some((other) => path.startsWith(`${other}/`)))
    .toSorted((a, b) => Number(b === ownFolder) - Number(a === ownFolder));
}
