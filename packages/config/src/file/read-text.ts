// Reads a text file that a person named, for a program that must not wait: a pipe into which nobody writes,
// and a device or a file that does not end, are refused in words.
import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";

/** Far more than any config or secret, and read at once. */
const mostBytes = 32 * 1024 * 1024;

/** Null when there is no such file. Rejects with the system's error, or with one that says what it is. */
export async function textFile(path: string): Promise<string | null> {
  let handle: FileHandle;
  try {
    // Without it a pipe is waited for until somebody writes.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    const found = await handle.stat();
    if (found.isFIFO()) throw new Error("it is a pipe, and no file");
    if (found.size > mostBytes) throw tooLarge();
    return found.isCharacterDevice() ? await deviceText(handle) : await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/** Such as /dev/null, which stands for an empty file. */
async function deviceText(handle: FileHandle): Promise<string> {
  const chunks: Buffer[] = [];
  for (let bytes = 0; bytes <= mostBytes;) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(1024 * 1024) });
    if (bytesRead === 0) return Buffer.concat(chunks).toString("utf8");
    chunks.push(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
  }
  throw tooLarge();
}

function tooLarge(): Error {
  return new Error(`it is larger than ${mostBytes / 1024 / 1024} MB`);
}
