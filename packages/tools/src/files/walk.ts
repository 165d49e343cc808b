// Resolves a path that somebody wrote to a place below a root; all access to the workspace goes through here.
// It opens every component by itself, relative to the folder that is already open, and never through a link:
// it reads a link and walks its target in the same way, so nothing that is swapped between a check and its
// use can lead outside.
import { constants, type Stats } from "node:fs";
import { lstat, mkdir, open, readlink, realpath, stat, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { Fault, isFault } from "@parley/protocol";
import { guardOf } from "./guarded-paths.ts";

export interface RootSpec {
  /** Absolute. */
  readonly root: string;
  /** Other spellings of the root: where it lies inside a sandbox. */
  readonly alsoKnownAs?: readonly string[];
  /**
   * Folders below the root that may not be entered, absolute: the state folder, when somebody put the
   * workspace around it.
   */
  readonly forbidden?: readonly string[];
  /** Nothing below the root is reached but these folders of it, wherever links lead. */
  readonly only?: readonly string[];
  /** A file that has other names (hard links) is not read: they may lie outside the root. */
  readonly ownNamesOnly?: boolean;
  /** Limits changes there. Absent: all but files that git runs. */
  readonly rules?: ChangeRules;
}

export interface ChangeRules {
  /** Why nothing may be made, changed or removed at this path below the root; null when it may. */
  refusal(path: string): Promise<string | null>;
  /** Returns the bytes to write when a tool asks to write these. */
  written(path: string, bytes: Uint8Array): Promise<Uint8Array>;
  /** Called before a file is removed. */
  removed?(path: string): Promise<void>;
}

export interface Folder {
  readonly handle: FileHandle;
  /** Relative to the root, "" for the root itself; no links in it. */
  readonly path: string;
  /** Absolute. Only where the platform cannot name an open folder. */
  readonly hostPath: string;
}

/** The place that a path leads to: a name in an open folder. `stat` is null when the name does not exist. */
export interface Place {
  readonly folder: Folder;
  /** "." for the root itself. */
  readonly name: string;
  readonly path: string;
  readonly stat: Stats | null;
}

/** As the kernel counts (path_resolution(7): 40). */
const mostLinks = 40;
const longestPath = 4_096;

/**
 * The name of an entry of an open folder, for calls that take a path. On Linux /proc/self/fd names the folder
 * itself, whatever its path became meanwhile: as good as openat(2). Elsewhere it is the folder's path, and
 * `enter` looks again that it still is that folder.
 */
export function entryPath(folder: Folder, name: string): string {
  return process.platform === "linux"
    ? `/proc/self/fd/${folder.handle.fd}/${name}`
    : join(folder.hostPath, name);
}

function entryStat(folder: Folder, name: string): Promise<Stats | null> {
  return lstat(entryPath(folder, name)).catch(ignoring("ENOENT"));
}

/**
 * The components of `path` below the root; null when it is absolute and elsewhere. Throws Fault("invalid").
 */
export function partsBelow(spec: RootSpec, path: string, realRoot?: string): string[] | null {
  if (path.trim() === "") throw new Fault("invalid", "the path is empty; name a file");
  if (path.includes("\0") || path.length > longestPath)
    throw new Fault("invalid", "the path has a NUL or is too long; name a file");
  const roots = [spec.root, ...(spec.alsoKnownAs ?? []), ...(realRoot === undefined ? [] : [realRoot])];
  // A root may be known by a name under the user's home, which a prompt writes as "~".
  const isRelative =
    !path.startsWith("/") && !(path.startsWith("~/") && roots.some((root) => root.startsWith("~/")));
  if (isRelative) return path.split("/");
  for (const root of roots) {
    const start = root.endsWith("/") ? root : `${root}/`;
    if (path === root) return [];
    if (path.startsWith(start)) return path.slice(start.length).split("/");
  }
  return null;
}

/**
 * Walks to `path`, calls `use` with its place and closes the folders afterwards. `make` creates the missing
 * folders on the way. Throws Fault: `denied` outside the root, and where the rules refuse it when `make`,
 * `missing` where a folder on the way is not there, `invalid` where a file is in the way.
 */
export async function walk<T>(
  spec: RootSpec,
  path: string,
  make: boolean,
  use: (place: Place) => Promise<T>,
): Promise<T> {
  const realRoot = await realpath(spec.root).catch((cause: unknown) => {
    throw new Fault("missing", `the folder ${spec.root} is not there`, { cause });
  });
  const parts = partsBelow(spec, path, realRoot);
  if (parts === null) throw outside(path);
  const open: Folder[] = [];
  try {
    open.push({ handle: await openFolder(realRoot), path: "", hostPath: realRoot });
    const place = await descend(spec, realRoot, path, parts, make, open);
    if (spec.only !== undefined && !spec.only.some((folder) => place.path.startsWith(`${folder}/`)))
      throw outside(path);
    return await use(place);
  } catch (cause) {
    if (isFault(cause) || !(cause instanceof Error && "code" in cause)) throw cause;
    // The system's message may name an open folder by its number; its code says enough.
    throw new Fault(
      isCode(cause, "EACCES", "EPERM", "EROFS") ? "denied" : "unavailable",
      `${path}: ${String(cause.code)}`,
      { cause },
    );
  } finally {
    await Promise.all(open.map(({ handle }) => handle.close()));
  }
}

async function descend(
  spec: RootSpec,
  realRoot: string,
  asked: string,
  parts: readonly string[],
  make: boolean,
  open: Folder[],
): Promise<Place> {
  const forbidden = await identities(spec.forbidden ?? []);
  const rest = [...parts];
  let links = 0;
  const top = (): Folder => {
    const last = open.at(-1);
    if (last === undefined) throw outside(asked);
    return last;
  };
  const allowed = async (folder: Folder): Promise<void> => {
    if (forbidden.has(identity(await folder.handle.stat())))
      throw new Fault("denied", `${asked} is in Parley's own folder, which tools may not enter`);
  };
  await allowed(top());

  for (;;) {
    const name = rest.shift();
    if (name === undefined)
      return { folder: top(), name: ".", path: top().path, stat: await top().handle.stat() };
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (open.length === 1) throw outside(asked);
      await open.pop()?.handle.close();
      continue;
    }
    const folder = top();
    // Before a link is followed: what it is called counts as much as where it leads.
    if (make) await mayChange(spec, join(folder.path, name));
    const found = await entryStat(folder, name);
    if (found?.isSymbolicLink() === true) {
      if ((links += 1) > mostLinks) throw new Fault("invalid", `${asked}: its links go in a circle`);
      const target = await readlink(entryPath(folder, name));
      const below = target.startsWith("/") ? partsBelow(spec, target, realRoot) : target.split("/");
      if (below === null)
        throw new Fault(
          "denied",
          `${asked} leads out of the workspace by the link ${join(folder.path, name)}`,
        );
      if (target.startsWith("/")) await Promise.all(open.splice(1).map(({ handle }) => handle.close()));
      rest.unshift(...below);
      continue;
    }
    const last = rest.every((part) => part === "" || part === ".");
    const here = join(folder.path, name);
    if (last && found?.isDirectory() !== true) {
      // "name/" asks for a folder, and there is none.
      if (rest.length > 0)
        throw new Fault(found === null ? "missing" : "invalid", `${asked}: ${here} is not a folder`);
      return { folder, name, path: here, stat: found };
    }
    if (found === null) {
      if (!make) throw new Fault("missing", `there is no ${here}`);
      await mkdir(entryPath(folder, name)).catch(ignoring("EEXIST"));
    } else if (!found.isDirectory()) throw new Fault("invalid", `${asked}: ${here} is not a folder`);
    const entered = await enter(folder, name, asked);
    open.push(entered);
    await allowed(entered);
  }
}

/** Throws Fault("denied"). */
export async function mayChange({ rules = allButGit }: RootSpec, path: string): Promise<void> {
  const reason = await rules.refusal(path);
  if (reason !== null) throw new Fault("denied", reason);
}

export const gitRefusal = (path: string): string =>
  `${path} is in a .git folder, where git keeps what it runs by itself; change it with git`;

const allButGit: ChangeRules = {
  refusal: async (path) => (guardOf(path) === "git" ? gitRefusal(path) : null),
  written: async (_, bytes) => bytes,
};

async function enter(folder: Folder, name: string, asked: string): Promise<Folder> {
  const hostPath = join(folder.hostPath, name);
  const handle = await openFolder(entryPath(folder, name)).catch((cause: unknown) => {
    if (isCode(cause, "EACCES", "EPERM")) throw cause;
    throw new Fault("conflict", `${asked} was changed while it was opened; try again`, { cause });
  });
  if (process.platform !== "linux") {
    const still = await lstat(hostPath).catch(ignoring("ENOENT"));
    if (still === null || identity(still) !== identity(await handle.stat())) {
      await handle.close();
      throw new Fault("conflict", `${asked} was changed while it was opened; try again`);
    }
  }
  return { handle, path: join(folder.path, name), hostPath };
}

function openFolder(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

const identity = ({ dev, ino }: Stats): string => `${dev}:${ino}`;

async function identities(paths: readonly string[]): Promise<ReadonlySet<string>> {
  const found = await Promise.all(paths.map((path) => stat(path).catch(ignoring("ENOENT", "ENOTDIR"))));
  return new Set(found.flatMap((each) => (each === null ? [] : [identity(each)])));
}

function outside(path: string): Fault {
  return new Fault("denied", `${path} is outside the workspace`);
}

export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** For `catch`: null for these codes of the system, anything else goes on. */
export function ignoring(...codes: readonly string[]): (error: unknown) => null {
  return (error) => {
    if (isCode(error, ...codes)) return null;
    throw error;
  };
}
