// Writes a default workspace on first start. Never overwrites: a folder that holds any workspace file already is left alone,
// so that a file which someone removed on purpose does not come back.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "@parley/protocol";
import { bootstrapNames } from "./snapshot.ts";

export interface EnsuredWorkspace {
  /** True when this call wrote the defaults. */
  readonly created: boolean;
  /** Names written, in the order of Project Context. */
  readonly files: readonly string[];
}

/** `templates` is the folder of the default files. Throws Fault("unavailable") when the workspace cannot be written. */
export async function ensureWorkspace(dir: string, templates: string): Promise<EnsuredWorkspace> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const there = new Set(await readdir(dir));
    if (bootstrapNames.some((name) => there.has(name))) return { created: false, files: [] };
    const offered = new Set(await readdir(templates));
    const files = bootstrapNames.filter((name) => offered.has(name));
    // `wx` refuses to overwrite, also when two starts race.
    for (const name of files) await writeFile(join(dir, name), await readFile(join(templates, name)), { flag: "wx", mode: 0o600 });
    return { created: true, files };
  } catch (cause) {
    throw new Fault("unavailable", `the workspace ${dir} cannot be prepared: ${String(cause)}. Check its owner and free space.`, { cause });
  }
}
