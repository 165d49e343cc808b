// Writes the output of a running command to disk: a person or the model reads it from this file later, so
// memory need not store it and a crash keeps it. Bounded: past its limit output is counted and dropped.
import { readdir } from "node:fs/promises";
import { stripVTControlCharacters } from "node:util";
import { isFault } from "@parley/protocol";
import { readBytes, type Rooted } from "../files/rooted.ts";
import { entryPath, walk } from "../files/walk.ts";
import { firstBytes } from "../result-size.ts";

/** Below the workspace. */
export const logFolder = ".parley/exec";
/** The limit of all commands together. */
const mostLogs = 200;

/** One command may leave this much. */
const outputFileBytes = 64 * 1024 * 1024;

export interface OutputFile {
  /** Below the workspace. */
  readonly path: string;
  /** On disk so far. */
  readonly bytes: number;
  /** Resolves when the system has taken it; until then the command waits. */
  write(chunk: Buffer): Promise<void>;
  close(): Promise<void>;
}

export async function openOutputFile(files: Rooted, path: string): Promise<OutputFile> {
  const handle = await files.append(path);
  let bytes = 0;
  let dropped = 0;
  let last: Promise<void> = Promise.resolve();
  const put = async (chunk: Buffer): Promise<void> => {
    const room = chunk.subarray(0, Math.max(0, outputFileBytes - bytes));
    dropped += chunk.length - room.length;
    if (room.length > 0) await handle.writeFile(room);
    bytes += room.length;
  };
  const queued = (run: () => Promise<void>): Promise<void> => (last = last.then(run));
  return {
    path,
    get bytes() {
      return bytes;
    },
    write: (chunk) => queued(() => put(chunk)),
    close: () =>
      queued(async () => {
        if (dropped > 0) await handle.writeFile(`\n[${dropped} more bytes were not kept]\n`);
      }).finally(() => handle.close()),
  };
}

export interface Excerpt {
  readonly text: string;
  /** Bytes of the whole log. */
  readonly total: number;
  /** True when the text is the whole log. */
  readonly whole: boolean;
}

/** Beginning and end of a log in at most about `bytes`; null when the log is gone. */
export function excerpt(files: Rooted, path: string, bytes: number): Promise<Excerpt | null> {
  return reading(files, path, async (read, total) => {
    if (total <= bytes) return { text: plainOutput(await read(0, total)), total, whole: true };
    // Its beginning tells what it did, its end how it went.
    const head = Math.floor(bytes * 0.3);
    const tail = bytes - head;
    const text = `${plainOutput(await read(0, head))}\n[... ${total - bytes} bytes left out ...]\n${plainOutput(await read(total - tail, tail))}`;
    // What was no text may have grown when it was decoded.
    return { text: firstBytes(text, bytes + 60), total, whole: false };
  });
}

/** Returns the output after `from`, at most its last `bytes`. */
export function since(files: Rooted, path: string, from: number, bytes: number): Promise<Excerpt | null> {
  return reading(files, path, async (read, total) => {
    const start = Math.max(Math.min(from, total), total - bytes);
    const skipped = start - Math.min(from, total);
    const text = plainOutput(await read(start, total - start));
    return {
      text: skipped > 0 ? `[... ${skipped} bytes left out ...]\n${text}` : text,
      total,
      whole: skipped === 0,
    };
  });
}

type Read = (from: number, length: number) => Promise<Buffer>;

async function reading(
  files: Rooted,
  path: string,
  use: (read: Read, total: number) => Promise<Excerpt>,
): Promise<Excerpt | null> {
  try {
    return await files.withFile(path, ({ handle, size }) =>
      use((from, length) => readBytes(handle, from, length), size),
    );
  } catch (error) {
    if (isFault(error)) return null; // The command or a person removed it.
    throw error;
  }
}

/** Without colours and cursor moves; of a line that was written over again and again, its last state. */
function plainOutput(bytes: Buffer): string {
  return stripVTControlCharacters(bytes.toString())
    .replaceAll("\r\n", "\n")
    .replaceAll(/[^\n]*\r(?=[^\n])/g, "")
    .replaceAll(/[\0-\x08\x0b-\x1f\x7f]/g, "");
}

/** Names begin with their time, so the oldest are the first. */
export async function pruneLogs(files: Rooted): Promise<void> {
  const names = await walk(files, logFolder, true, async ({ folder, name, stat: found }) =>
    found?.isDirectory() === true ? readdir(entryPath(folder, name)) : [],
  );
  const oldest = names.toSorted((a, b) => (a < b ? -1 : 1));
  for (const name of oldest.slice(0, Math.max(0, names.length - mostLogs)))
    await removeLog(files, `${logFolder}/${name}`);
}

export async function removeLog(files: Rooted, path: string): Promise<void> {
  await files.remove(path).catch((error: unknown) => {
    if (!isFault(error)) throw error; // Gone already, or not ours to remove: it is only a log.
  });
}
