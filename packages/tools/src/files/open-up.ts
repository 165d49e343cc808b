// Opens folders that a command closed before it ended (chmod 555, chmod 000), so that nobody could remove
// what lies in them. The gateway's user owns them and may do so. It also takes the set-user-id bit from files
// that would lend that user's rights to others.
import { constants } from "node:fs";
import { chmod, open, type FileHandle } from "node:fs/promises";
import { isFault } from "@parley/protocol";
import { entryPath, isCode, walk } from "./walk.ts";

/** open(2): names an entry that may not be read. Node has no constant for it. */
const O_PATH = 0o10000000;
const ours = 0o700;

/**
 * Lets the gateway read and change the folders down to `path`, and `path` itself if it is one. No link is
 * followed. False where it cannot: they are somebody else's, or the system has no such way to name a folder.
 */
export async function openUp(root: string, path: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  const handles: FileHandle[] = [];
  const flags = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  let at = root;
  try {
    for (const name of path.split("/")) {
      const handle = await open(`${at}/${name}`, flags);
      handles.push(handle);
      at = `/proc/self/fd/${handle.fd}`;
      const { mode } = await handle.stat();
      if ((mode & ours) !== ours) await chmod(at, (mode & 0o7777) | ours);
    }
    return true;
  } catch (error) {
    // A file at the end of the path needs nothing; the caller reports entries that vanished or belong to
    // others.
    if (isCode(error, "ENOTDIR", "ELOOP")) return true;
    if (isCode(error, "ENOENT", "EACCES", "EPERM")) return false;
    throw error;
  } finally {
    for (const handle of handles) await handle.close();
  }
}

const otherRights = 0o6000;

/**
 * Takes from a file that whoever runs it has its owner's rights (chmod u+s), which other users of the machine
 * could use.
 */
export async function dropOtherRights(root: string, path: string): Promise<void> {
  if (process.platform !== "linux") return;
  await walk({ root }, path, false, async ({ folder, name }) => {
    const handle = await open(entryPath(folder, name), O_PATH | constants.O_NOFOLLOW);
    try {
      const stat = await handle.stat();
      if (stat.isFile() && (stat.mode & otherRights) !== 0)
        await chmod(`/proc/self/fd/${handle.fd}`, stat.mode & 0o1777);
    } finally {
      await handle.close();
    }
  }).catch((error: unknown) => {
    if (!isFault(error)) throw error; // It is gone meanwhile, or somebody else's.
  });
}
