// Finds files of Parley's own that are past their time or over their size, oldest first, and removes them one
// by one. Names that are not ours, and what lies behind a link, are somebody's own and stay.
import { lstat, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";

export interface OldFiles {
  readonly folder: string;
  /** Matches the whole names of our files there. */
  readonly names: RegExp;
  /** Absent: age takes none. */
  readonly keepMs?: number | undefined;
  /** Together, beyond which the oldest go. Absent: size takes none. */
  readonly maxBytes?: number | undefined;
  /** Younger ones stay in any case. */
  readonly neededMs?: number;
  /** So many of the newest stay in any case. */
  readonly keepNewest?: number;
  /** Beyond so many the oldest go. Absent: their number takes none. */
  readonly most?: number;
  /** Of these names, those that stay whatever their age. Asked only where one would go. */
  readonly inUse?: (names: ReadonlySet<string>) => Promise<ReadonlySet<string>>;
}

export interface Found {
  readonly path: string;
  readonly bytes: number;
}

export async function oldFiles(
  { folder, names, keepMs, maxBytes, neededMs = 0, keepNewest = 0, most = Infinity, inUse }: OldFiles,
  nowMs: number,
): Promise<readonly Found[]> {
  const files: (Found & { readonly atMs: number })[] = [];
  for (const name of (await readdir(folder).catch(nothingYet)).filter((each) => names.test(each))) {
    const path = join(folder, name);
    const found = await lstat(path).catch(() => null);
    // Null: it went meanwhile.
    if (found?.isFile() === true) files.push({ path, bytes: found.size, atMs: found.mtimeMs });
  }
  files.sort((a, b) => a.atMs - b.atMs);
  const picked = (used: ReadonlySet<string>): readonly Found[] => {
    let leftBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
    let left = files.length;
    const old: Found[] = [];
    for (const { path, bytes, atMs } of files) {
      const ageMs = nowMs - atMs;
      const isOld = keepMs !== undefined && ageMs > keepMs;
      const isOver = (maxBytes !== undefined && leftBytes > maxBytes) || left > most;
      if (ageMs < neededMs || left <= keepNewest || !(isOld || isOver)) break;
      if (used.has(basename(path))) continue;
      old.push({ path, bytes });
      leftBytes -= bytes;
      left -= 1;
    }
    return old;
  };
  const found = picked(new Set());
  if (inUse === undefined || found.length === 0) return found;
  return picked(await inUse(new Set(files.map(({ path }) => basename(path)))));
}

export async function removeFiles(files: readonly Found[]): Promise<void> {
  for (const { path } of files) await rm(path, { force: true });
}

function nothingYet(error: NodeJS.ErrnoException): string[] {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
  throw error;
}
