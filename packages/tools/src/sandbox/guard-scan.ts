// Scans a workspace for what a command in a sandbox may not change: guarded paths, git's folders whatever
// their names, and files that have another name (hard links). It does not follow links and only reports where
// they lead.
import type { Dir, Dirent, Stats } from "node:fs";
import { lstat, opendir, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { isRepository } from "../files/bare-repository.ts";
import { guardOf, ownFolder } from "../files/guarded-paths.ts";
import { dropOtherRights, openUp } from "../files/open-up.ts";
import { ignoring, isCode } from "../files/walk.ts";

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
/**
 * A folder may have a million names, which must not be in memory at once, so the scan reads this many at a
 * time.
 */
const chunkOf = 1_024;
/** Folders at a time. */
const lanes = 4;
/** The scan goes no deeper, so the folder there counts as guarded. */
const deepest = 64;
const longestPath = 1_024;

export interface ScanRequest {
  readonly root: string;
  readonly alsoPrompt: readonly string[];
  /** Folders that no command sees, absolute. */
  readonly hidden: readonly string[];
  /**
   * After a command: what was there before, by path. Then everything is looked at, however much it is, and
   * folders that the command closed are opened.
   */
  readonly before?: { readonly [path: string]: string };
}

export async function scanGuarded(
  { root, alsoPrompt, hidden, before }: ScanRequest,
  most = mostEntries,
): Promise<GuardScan> {
  const realRoot = await realpath(root);
  // Not there: not seen.
  const unseen = new Set(await Promise.all(hidden.map((path) => realpath(path).catch(() => path))));
  const guarded = new Map<string, string>();
  const readOnly = new Set<string>();
  /** Files with several names, and those names of them that were met. */
  const linked = new Map<string, { readonly names: number; readonly paths: string[] }>();
  let entries = 0;
  let nameless = false;
  let free = lanes - 1;
  const isFull = (): boolean => before === undefined && entries > most;
  const statOf = (path: string): Promise<Stats | null> =>
    lstat(join(realRoot, path)).catch(ignoring("ENOENT", "ENOTDIR", "EACCES"));

  async function guard(path: string, known?: Stats): Promise<void> {
    const stat = known ?? (await statOf(path));
    if (stat === null) return;
    guarded.set(path, identityOf(stat));
    if (!stat.isSymbolicLink()) return void readOnly.add(path);
    const target = await realpath(join(realRoot, path)).catch(
      ignoring("ENOENT", "ENOTDIR", "ELOOP", "EACCES"),
    );
    const below = target === null ? "" : relative(realRoot, target);
    if (below !== "" && !below.startsWith("..")) readOnly.add(below);
  }

  /**
   * bubblewrap takes no name that is not UTF-8: the scan reports such a name as it decodes, and before a
   * command the workspace then becomes read-only.
   */
  function guardNameless(path: string): void {
    nameless = true;
    guarded.set(path, "not UTF-8");
  }

  /** Returns the folders among them. */
  async function look(folder: string, found: readonly Dirent[]): Promise<readonly string[]> {
    const inPackages = folder.split("/").includes("node_modules");
    const folders = await Promise.all(
      found.map(async (entry): Promise<readonly string[]> => {
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
        if (unseen.has(join(realRoot, path))) return [];
        const isGuarded = guardOf(path, alsoPrompt) !== null;
        if (entry.name.includes("\ufffd") && (isGuarded || entry.isDirectory())) {
          guardNameless(path);
          return [];
        }
        if (!isGuarded && entry.isDirectory()) return [path];
        if (before !== undefined && !isGuarded && entry.isFile() && isSetuid(await statOf(path)))
          await dropOtherRights(realRoot, path);
        if (!isGuarded && (inPackages || before !== undefined || !entry.isFile())) return [];
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

  async function open(folder: string): Promise<Dir | null> {
    const opened = (): Promise<Dir> => opendir(join(realRoot, folder), { bufferSize: chunkOf });
    try {
      return await opened();
    } catch (error) {
      if (!isCode(error, "EACCES")) return ignoring("ENOENT", "ENOTDIR")(error);
    }
    const stat = await statOf(folder);
    const isNew = before !== undefined && stat !== null && before[folder] !== identityOf(stat);
    if (isNew && (await openUp(realRoot, folder)))
      return opened().catch(ignoring("ENOENT", "ENOTDIR", "EACCES"));
    if (folder !== "" && stat !== null) await guard(folder, stat);
    return null;
  }

  async function visit(folder: string): Promise<void> {
    if (isFull()) return;
    if (folder.length > longestPath || folder.split("/").length > deepest) return guard(folder);
    const dir = await open(folder);
    if (dir === null) return;
    let isOpen = true;
    try {
      while (isOpen && !isFull()) {
        const found = await readSome(dir);
        if (found.length < chunkOf) {
          // Below it more are opened, level by level.
          isOpen = false;
          await dir.close();
        }
        entries += found.length;
        if (
          found.some(({ name }) => name.toLowerCase() === "head") &&
          (await isRepository(join(realRoot, folder)))
        ) {
          if (folder !== "") return await guard(folder);
          for (const name of ofRepository) await guard(name);
        }
        await visitAll(await look(folder, found));
      }
    } finally {
      if (isOpen) await dir.close();
    }
  }

  async function visitAll(folders: readonly string[]): Promise<void> {
    const beside: Promise<void>[] = [];
    const failures: unknown[] = [];
    for (const path of folders) {
      if (before === undefined && path.endsWith("node_modules") && (await hasLinks(join(realRoot, path))))
        readOnly.add(path);
      const visited = visit(path).catch((error: unknown) => void failures.push(error));
      if (free === 0) await visited;
      else {
        free -= 1;
        beside.push(visited.finally(() => (free += 1)));
      }
    }
    await Promise.all(beside);
    if (failures.length > 0) throw failures[0];
  }

  await visit("");
  const mounted = outermost([...readOnly]);
  // Builds link within the workspace; only a name that was not met may lie outside.
  const masked = [...linked.values()].flatMap(({ names, paths }) => (paths.length < names ? paths : []));
  const mounts = new Set([...mounted, ...masked].flatMap((path) => [path, ...foldersOf(path)])).size;
  return { guarded, readOnly: mounted, masked, tooMuch: nameless || isFull() || mounts > mostMounts };
}

/** Entries of a bare repository. Where it is the workspace itself, each of them is guarded. */
const ofRepository =
  "HEAD commondir config config.worktree hooks info objects refs packed-refs modules worktrees".split(" ");

/**
 * The first one fetches as many as are asked for; the rest of them is in memory then, and a promise for each
 * would cost more.
 */
async function readSome(dir: Dir): Promise<readonly Dirent[]> {
  const found: Dirent[] = [];
  for (let entry = await dir.read(); entry !== null; entry = dir.readSync()) {
    found.push(entry);
    if (found.length === chunkOf) break;
  }
  return found;
}

/** From the outermost in. */
export function foldersOf(path: string): readonly string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

const isSetuid = (stat: Stats | null): boolean =>
  stat !== null && stat.isFile() && (stat.mode & 0o6000) !== 0;

const link = "link ";

/** With its birth: the number of a file that is gone is given to the next one. */
function identityOf(stat: Stats): string {
  return `${stat.isSymbolicLink() ? link : ""}${stat.dev}:${stat.ino}:${stat.birthtimeMs}`;
}

/**
 * Of what cannot have been replaced or renamed by a command, because it is mounted; a folder above it can.
 */
export function isMounted(identity: string): boolean {
  return !identity.startsWith(link);
}

/**
 * Of the first files of a folder of packages: their other names lie in a store that all projects of the
 * machine share.
 */
async function hasLinks(folder: string): Promise<boolean> {
  let files = 0;
  const open = [folder];
  while (open.length > 0 && files < packageSample) {
    const at = open.shift() ?? "";
    const dir = await opendir(at).catch(ignoring("ENOENT", "ENOTDIR", "EACCES"));
    for await (const entry of dir ?? []) {
      if (entry.isDirectory() && open.length < packageSample) open.push(join(at, entry.name));
      if (!entry.isFile()) continue;
      files += 1;
      const stat = await lstat(join(at, entry.name)).catch(ignoring("ENOENT", "ENOTDIR"));
      if (stat !== null && stat.nlink > 1) return true;
      if (files >= packageSample) break;
    }
  }
  return false;
}

/** Leaves out paths below another one. Parley's own folder comes first, because its content is read back. */
function outermost(paths: readonly string[]): readonly string[] {
  const sorted = paths.toSorted((a, b) => (a < b ? -1 : 1));
  return sorted
    .filter((path) => !sorted.some((other) => path.startsWith(`${other}/`)))
    .toSorted((a, b) => Number(b === ownFolder) - Number(a === ownFolder));
}
