// Makes folders for databases of tests, in memory where the system has such a folder: a commit waits some
// milliseconds for a disk, and what a process has written before it dies is in a file in memory as well.
import { accessSync, constants, mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const memory = "/dev/shm";
/** Several workers' databases together; a container has 64 MB there unless told otherwise. */
const leastFreeBytes = 512 * 1024 * 1024;

function hasRoom(): boolean {
  try {
    accessSync(memory, constants.W_OK);
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= leastFreeBytes;
  } catch {
    // Linux has it, others do not.
    return false;
  }
}

/**
 * `name` stands in the folder's name. Its path has as many characters in `/tmp` as it has in memory: traces
 * count those of a prompt, in which it stands.
 */
export function folderInMemory(name: string): string {
  return mkdtempSync(hasRoom() ? join(memory, `${name}-`) : join(tmpdir(), `tmp-${name}-`));
}
