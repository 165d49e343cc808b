// Writes a default workspace on first start. Never overwrites: a folder that holds any workspace file already
// is left alone, so that a file which someone removed on purpose does not come back. BOOTSTRAP.md says that
// the workspace is new, so a folder with notes or a history does not get it.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "@parley/protocol";
import { bootstrapNames } from "./snapshot.ts";

export interface EnsuredWorkspace {
  /** True when this call wrote the defaults. */
  readonly created: boolean;
  /** Names written, in the order of Project Context. */
  readonly files: readonly string[];
  /**
   * Why the defaults could not be written into a folder that can be read: what is there is what the agent
   * has.
   */
  readonly refused?: string;
}

/**
 * `templates` is the folder of the default files. Throws Fault("unavailable") when the workspace cannot be
 * made or read.
 */
export async function ensureWorkspace(dir: string, templates: string): Promise<EnsuredWorkspace> {
  let isOld: boolean;
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const there = new Set(await readdir(dir));
    isOld = there.has("memory") || there.has(".git");
    if (bootstrapNames.some((name) => there.has(name))) return { created: false, files: [] };
  } catch (cause) {
    throw new Fault(
      "unavailable",
      `the workspace ${dir} cannot be prepared: ${String(cause)}. Check its owner and free space.`,
      { cause },
    );
  }
  const offered = new Set(await readdir(templates));
  const files = bootstrapNames.filter((name) => offered.has(name) && (name !== "BOOTSTRAP.md" || !isOld));
  const written: string[] = [];
  try {
    for (const name of files) {
      await writeOnce(join(dir, name), await readFile(join(templates, name)));
      written.push(name);
    }
    return { created: true, files };
  } catch (error) {
    // An agent with a folder that nobody may write to works all the same.
    return {
      created: false,
      files: written,
      refused: error instanceof Error ? error.message : String(error),
    };
  }
}

/**
 * Never overwrites. Where several nodes start on one shared folder, the first one writes and the others find
 * it written.
 */
async function writeOnce(path: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(path, bytes, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
