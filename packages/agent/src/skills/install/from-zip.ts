// A .zip as a source, entry by entry of its central directory: files and folders only; links, encrypted
// entries and lying sizes are refused.
import { openPromise } from "yauzl";
import { Fault, isFault } from "@parley/protocol";
import { installLimits } from "./limits.ts";
import { contentOf, isLitter, refusal, type Stage } from "./stage.ts";

/** File types in the upper half of a Unix entry's attributes. */
const typeMask = 0o170000;
const regular = 0o100000;
const folder = 0o040000;

export async function stageZip(file: string, into: Stage): Promise<void> {
  try {
    // Names are checked by the stage, whose words are ours; the library would put "\" right silently.
    const zip = await openPromise(file, {
      lazyEntries: true,
      autoClose: false,
      validateEntrySizes: true,
      strictFileNames: true,
    });
    try {
      if (zip.entryCount > installLimits.files * 2)
        throw new Fault("invalid", `it has more than ${installLimits.files} files`);
      for await (const entry of zip.eachEntry()) {
        const mode = entry.externalFileAttributes >>> 16;
        const type = mode & typeMask;
        const { fileName: name } = entry;
        if (type !== 0 && type !== regular && type !== folder)
          throw refusal(name, "it is a link or a device; only files and folders are taken");
        if (isLitter(name)) continue;
        if (name.endsWith("/")) {
          if (name !== "./") into.check(name);
          continue;
        }
        if (entry.isEncrypted()) throw refusal(name, "it is encrypted");
        if (entry.uncompressedSize > installLimits.fileBytes)
          throw refusal(name, `it has more than ${installLimits.fileBytes} bytes`);
        const stream = await zip.openReadStreamPromise(entry);
        try {
          await into.add({ path: name, executable: (mode & 0o100) !== 0, content: contentOf(stream) });
        } finally {
          // The file stays open as long as one of its streams does.
          stream.destroy();
        }
      }
    } finally {
      zip.close();
    }
  } catch (error) {
    if (isFault(error)) throw error;
    throw new Fault(
      "invalid",
      `the archive cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}
