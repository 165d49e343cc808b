// Looks at the files that a job watches: those of an agent's workspace that a path or a pattern names. It
// follows no link, so that nothing outside of the workspace is seen, and it looks at a bounded number (I9).
import { createHash } from "node:crypto";
import { lstat, readdir, realpath } from "node:fs/promises";
import { join, matchesGlob, relative, sep } from "node:path";
import type { FilesSeen } from "@parley/runner";

const mostFiles = 5_000;
const mostEntries = 50_000;
const statsAtOnce = 64;
/** Programs write here all the time; a pattern that names them means them. */
const leftOut = [".git", "node_modules"];
const wild = /[*?[\]{}]/;

interface Found {
  readonly name: string;
  readonly mtimeMs: number;
  /** Changes with what the file says, and with the file that has its name. */
  readonly mark: string;
}

/**
 * `pattern`: relative to the workspace; a folder means all that is in it. Returns what is wrong as a text.
 */
export async function watchedFiles(workspace: string, pattern: string): Promise<FilesSeen | string> {
  const root = await realpath(workspace).catch(() => null);
  if (root === null) return seen([]);
  const parts = pattern.split("/");
  const wildAt = parts.findIndex((part) => wild.test(part));
  const base = join(root, ...(wildAt === -1 ? parts : parts.slice(0, wildAt)));
  const real = await realpath(base).catch(() => null);
  if (real === null) return seen([]);
  if (real !== base)
    return `leads over a link, to ${isWithin(root, real) ? relative(root, real) : "a place outside of the workspace"}`;
  const stat = await lstat(base).catch(() => null);
  if (stat === null) return seen([]);
  if (!stat.isDirectory()) return seen(wildAt === -1 ? await marked(root, [relative(root, base)]) : []);
  const isMeant = wildAt === -1 ? () => true : (name: string) => matchesGlob(name, pattern);
  const depth = wildAt === -1 || parts.some((part) => part.includes("**")) ? Infinity : parts.length;
  const names = await namesIn(root, base, {
    depth,
    isMeant,
    except: leftOut.filter((name) => !parts.includes(name)),
  });
  return typeof names === "string" ? names : seen(await marked(root, names));
}

async function namesIn(
  root: string,
  base: string,
  {
    depth,
    isMeant,
    except,
  }: {
    /** Names of more parts are not looked for. */
    readonly depth: number;
    readonly isMeant: (name: string) => boolean;
    readonly except: readonly string[];
  },
): Promise<readonly string[] | string> {
  const folders = [base];
  const names: string[] = [];
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    // A folder that went away meanwhile has no files any more.
    const found = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of found) {
      entries += 1;
      const name = relative(root, join(folder, entry.name)).split(sep).join("/");
      if (entry.isDirectory() && !except.includes(entry.name) && name.split("/").length < depth)
        folders.push(join(folder, entry.name));
      if (entry.isFile() && isMeant(name)) names.push(name);
    }
    if (names.length > mostFiles) return `means more than ${mostFiles} files: name a folder with fewer`;
    if (entries > mostEntries)
      return `means a folder with more than ${mostEntries} files: name a smaller one`;
  }
  return names.toSorted();
}

async function marked(root: string, names: readonly string[]): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (let at = 0; at < names.length; at += statsAtOnce) {
    const some = names.slice(at, at + statsAtOnce).map(async (name): Promise<Found[]> => {
      const stat = await lstat(join(root, name)).catch(() => null);
      if (stat === null || !stat.isFile()) return [];
      const { size, mtimeMs, ino } = stat;
      return [{ name, mtimeMs, mark: `${size} ${mtimeMs} ${ino}` }];
    });
    found.push(...(await Promise.all(some)).flat());
  }
  return found;
}

function seen(files: readonly Found[]): FilesSeen {
  const hash = createHash("sha256");
  for (const { name, mark } of files) hash.update(`${name}\0${mark}\0`);
  return {
    digest: hash.digest("hex").slice(0, 16),
    files: files.map(({ name, mtimeMs }) => ({ name, mtimeMs })).toSorted((a, b) => b.mtimeMs - a.mtimeMs),
  };
}

function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root + sep);
}
