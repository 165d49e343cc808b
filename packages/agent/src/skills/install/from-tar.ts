// A .tar.gz or .tar as a source, entry by entry as it is read: files and folders only; links, devices and the
// rest are refused.
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { Fault, isFault } from "@parley/protocol";
import { installLimits } from "./limits.ts";
import { contentOf, isLitter, refusal, type Stage } from "./stage.ts";

export async function stageTar(file: string, gzipped: boolean, into: Stage): Promise<void> {
  const entries = extract();
  const source = createReadStream(file);
  const bounded = bound(installLimits.totalBytes * 2);
  const feeding = gzipped
    ? pipeline(source, createGunzip(), bounded, entries)
    : pipeline(source, bounded, entries);
  // Awaited below; until then its failure reaches us as the end of the entries.
  feeding.catch(() => {});
  try {
    let seen = 0;
    for await (const entry of entries) {
      const { name, type, mode } = entry.header;
      const content = contentOf(entry);
      seen += 1;
      if (seen > installLimits.files * 2)
        throw new Fault("invalid", `it has more than ${installLimits.files} files`);
      const plain = name.replace(/\/+$/, "");
      if (type === "directory") {
        if (!/^(?:\.\/*)?$/.test(name)) into.check(plain);
      } else if (type === "file" || type === "contiguous-file") {
        if (!isLitter(name)) await into.add({ path: name, executable: ((mode ?? 0) & 0o100) !== 0, content });
      } else throw refusal(plain, `it is a ${String(type)}; only files and folders are taken`);
      entry.resume();
    }
    await feeding;
  } catch (error) {
    if (isFault(error)) throw error;
    throw new Fault(
      "invalid",
      `the archive cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  } finally {
    source.destroy();
    entries.destroy();
  }
}

/** A bomb ends here, also one of headers that no file is made of. */
function bound(most: number): (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array> {
  return async function* counted(chunks) {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > most) throw new Fault("invalid", `it unpacks to more than ${most} bytes`);
      yield chunk;
    }
  };
}
