// Files by their content: media/<sha256>.<ext>. Names come from bytes and never from people, so none can point elsewhere, and the same
// file is kept once.
import { createHash } from "node:crypto";
import { access, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface MediaFolder {
  /** Keeps the bytes; returns the path under the folder. A crash in between leaves no half file under that name. */
  keep(bytes: Uint8Array, extension: string): Promise<string>;
}

/** `extension` of a name that people gave: letters and digits only, `bin` where there is none. */
export function extensionOf(name: string | undefined): string {
  return /\.([A-Za-z0-9]{1,8})$/.exec(name ?? "")?.[1]?.toLowerCase() ?? "bin";
}

export function mediaFolder(folder: string): MediaFolder {
  let writes = 0;
  return {
    async keep(bytes, extension) {
      const name = `${createHash("sha256").update(bytes).digest("hex")}.${extension}`;
      const path = join(folder, name);
      if (await exists(path)) return name;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = join(folder, `.${name}.${process.pid}.${(writes += 1)}`);
      await writeFile(draft, bytes, { mode: 0o600, flush: true });
      await rename(draft, path);
      return name;
    },
  };
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false, // Whatever is wrong with it, writing it anew will tell.
  );
}
