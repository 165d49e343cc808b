// Reads, lists and writes the files of the one folder that a device offers. A path that leads out of it is
// refused, also by a link, and so is everything that is no plain file.
import { constants } from "node:fs";
import { mkdir, open, readdir, readlink, realpath, type FileHandle } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { deviceTextChars } from "@parley/protocol";

const mostListed = 1_000;

export interface DeviceFiles {
  read(path: string): Promise<string>;
  list(path: string): Promise<string>;
  write(path: string, text: string): Promise<string>;
}

export async function deviceFiles(given: string): Promise<DeviceFiles> {
  const root = await realpath(given);

  function within(path: string): string {
    const found = resolve(root, path);
    const way = relative(root, found);
    if (path.includes("\0") || isAbsolute(path) || way === ".." || way.startsWith(`..${sep}`))
      throw new Error(`${path} is outside the folder`);
    return found;
  }
  /** Where the folders on the way really lead. */
  async function real(path: string): Promise<string> {
    const found = within(path);
    const parent = await realpath(found === root ? root : dirname(found));
    if (parent !== root && !parent.startsWith(root + sep)) throw new Error(`${path} is outside the folder`);
    return found === root ? root : join(parent, found.slice(dirname(found).length + 1));
  }
  async function opened(path: string, flags: number): Promise<FileHandle> {
    const at = await real(path);
    // A pipe would hold up whoever opens it.
    const handle = await open(at, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
    const isFile = (await handle.stat()).isFile();
    // A folder on the way may have been swapped for a link meanwhile; where Linux says so, it counts.
    const now = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => at);
    if (isFile && now.startsWith(root + sep)) return handle;
    await handle.close();
    throw new Error(isFile ? `${path} is outside the folder` : `${path} is no file`);
  }

  return {
    async read(path) {
      const handle = await opened(path, constants.O_RDONLY);
      try {
        const { size } = await handle.stat();
        const buffer = Buffer.alloc(Math.min(size, deviceTextChars));
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
        // A letter may stand on the edge.
        const decoder = new StringDecoder("utf8");
        const text = decoder.write(buffer.subarray(0, bytesRead));
        if (text.includes("\0")) throw new Error(`${path} is no text (${size} bytes)`);
        if (size === bytesRead) return text + decoder.end();
        const more = `\n… (${size} bytes in all)`;
        return text.slice(0, deviceTextChars - more.length) + more;
      } finally {
        await handle.close();
      }
    },
    async list(path) {
      const at = await real(path);
      const folder = await realpath(at);
      if (folder !== root && !folder.startsWith(root + sep)) throw new Error(`${path} is outside the folder`);
      const found = await readdir(folder, { withFileTypes: true });
      const lines = found
        .map((each) => (each.isDirectory() ? `${each.name}/` : each.name))
        .toSorted()
        .slice(0, mostListed);
      const more = found.length > mostListed ? [`… (${found.length} in all)`] : [];
      return [...lines, ...more].join("\n").slice(0, deviceTextChars) || "(empty)";
    },
    async write(path, text) {
      within(path);
      await real(path).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
        await madeFolders(root, dirname(within(path)));
      });
      const handle = await opened(path, constants.O_WRONLY | constants.O_CREAT);
      try {
        await handle.truncate(0);
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      return `${path} has ${Buffer.byteLength(text)} bytes now.`;
    },
  };
}

/** Makes the folders one by one, so that a link on the way is seen before anything is made behind it. */
async function madeFolders(root: string, folder: string): Promise<void> {
  let at = root;
  for (const name of relative(root, folder).split(sep)) {
    at = join(at, name);
    await mkdir(at).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    if ((await realpath(at)) !== at) throw new Error("a link is on the way there");
  }
}
