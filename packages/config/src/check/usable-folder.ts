// Tells whether a process can work in a folder, or make it, without making it: by the permissions of what is
// there now. Only certain answers count; what may pass by itself, such as a file server that is away, is left
// for the start to meet.
import { constants } from "node:fs";
import { access, lstat, mkdtemp, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

const longestName = 255;
const longestPath = 4_095;

/** What stands in the way of an absolute path; null when nothing is known to. */
export async function folderTrouble(path: string): Promise<string | null> {
  const unfit = pathTrouble(path);
  if (unfit !== null) return unfit;
  const found = await stat(path).catch(certain);
  if (typeof found === "string") return `${path} cannot be used: ${found}`;
  if (found !== null) {
    if (!found.isDirectory()) return `${path} is a file, not a folder`;
    return (await mayBe(path, constants.R_OK | constants.X_OK))
      ? null
      : `${path} may not be read by the user of the daemon`;
  }
  if ((await lstat(path).catch(() => null)) !== null) return `${path} is a link that leads nowhere`;
  return roomTrouble(path, dirname(path));
}

/** Of a path that may be anything: null when it can name something at all. */
export function pathTrouble(path: string): string | null {
  if (path.includes("\0")) return "the path has a NUL";
  const isLong =
    Buffer.byteLength(path) > longestPath ||
    path.split("/").some((name) => Buffer.byteLength(name) > longestName);
  return isLong ? "the path is longer than file systems take" : null;
}

/**
 * `above`: the nearest folder that is there has to take a new one. One is made and removed: nothing else
 * tells about quotas and odd mounts.
 */
async function roomTrouble(path: string, above: string): Promise<string | null> {
  const found = await stat(above).catch(certain);
  if (typeof found === "string") return `${path} cannot be made: ${found}`;
  if (found === null) return above === dirname(above) ? null : roomTrouble(path, dirname(above));
  if (!found.isDirectory()) return `${path} cannot be made: ${above} is a file, not a folder`;
  try {
    await rmdir(await mkdtemp(join(above, ".parley-")));
    return null;
  } catch (error) {
    const why = certain(error as NodeJS.ErrnoException);
    return `${path} cannot be made in ${above}: ${why ?? "no such file or directory"}`;
  }
}

async function mayBe(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    (error: NodeJS.ErrnoException) =>
      error.code !== "EACCES" && error.code !== "EPERM" && error.code !== "EROFS",
  );
}

const lasting: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "ELOOP", "ENAMETOOLONG"]);

/** Words for what lasts; null for what is not there. Anything else is left to the start. */
function certain(error: NodeJS.ErrnoException): string | null {
  return lasting.has(error.code ?? "") ? error.message : null;
}
