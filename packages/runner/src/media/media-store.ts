// Stores files by their content as media/<sha256>.<ext>. A name comes from bytes and never from people, so
// none can point elsewhere, and the same file is stored once. Each arrival rewrites the file, so that its age
// says when it was last needed (`daemon/media-retention.ts`).
import { createHash } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "@parley/protocol";

export interface MediaFolder {
  /**
   * Stores the bytes and returns the path under the folder. A crash leaves no half file under that name.
   * Throws Fault("unavailable").
   */
  keep(bytes: Uint8Array, extension: string): Promise<string>;
}

/** Returns the extension of a name that people gave: letters and digits only, `bin` where there is none. */
export function extensionOf(name: string | undefined): string {
  return /\.([A-Za-z0-9]{1,8})$/.exec(name ?? "")?.[1]?.toLowerCase() ?? "bin";
}

export function mediaFolder(folder: string): MediaFolder {
  let writes = 0;
  return {
    async keep(bytes, extension) {
      const name = `${createHash("sha256").update(bytes).digest("hex")}.${extension}`;
      const path = join(folder, name);
      const draft = join(folder, `.${name}.${process.pid}.${(writes += 1)}`);
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeFile(draft, bytes, { mode: 0o600, flush: true });
        await rename(draft, path);
      } catch (cause) {
        // The turn is retried, because an operator can mend a full disk or a wrong owner.
        throw new Fault("unavailable", `a file cannot be kept in ${folder}: ${String(cause)}`, { cause });
      }
      return name;
    },
  };
}
