// A skill's folder as a source: regular files, and links to files inside it, which are copied as files. A
// link out is refused.
import { constants } from "node:fs";
import { open, readdir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { contentOf, isLitter, refusal, type Stage } from "./stage.ts";

export async function stageFolder(folder: string, into: Stage): Promise<void> {
  const root = await realpath(folder);

  async function walk(below: string): Promise<void> {
    for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (isLitter(path)) continue;
      if (entry.isDirectory()) {
        into.check(path);
        await walk(path);
      } else if (entry.isFile() || entry.isSymbolicLink()) await copy(path, entry.isSymbolicLink());
      else throw refusal(path, "it is neither a file nor a folder");
    }
  }

  async function copy(path: string, isLink: boolean): Promise<void> {
    const named = join(root, path);
    const real = isLink ? await realpath(named).catch(() => null) : named;
    if (real === null || !real.startsWith(root + sep))
      throw refusal(path, "it is a link that leads out of the skill");
    const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = await handle.stat();
    if (!stat.isFile()) {
      await handle.close();
      throw refusal(path, isLink ? "it is a link to a folder" : "it is not a regular file");
    }
    // The stream closes the handle, also one that nobody reads.
    const stream = handle.createReadStream();
    try {
      await into.add({ path, executable: (stat.mode & 0o100) !== 0, content: contentOf(stream) });
    } finally {
      stream.destroy();
    }
  }

  await walk("");
}
