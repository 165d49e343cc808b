// Reads one workspace file and nothing else: a regular file whose real place is inside the workspace, without
// other names, of bounded size. An unchanged file (same device, inode, size and times) is not read again: a
// turn costs one short stat for each.
import { createHash } from "node:crypto";
import { constants, lstatSync, type BigIntStats } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";

/** Far above the injected caps, far below what would hurt. */
export const readLimitBytes = 2 * 1024 * 1024;

type RootedFile =
  | { readonly state: "present"; readonly text: string; /** Of its bytes. */ readonly sha256: string }
  | { readonly state: "missing" }
  /** There is something of that name which may not be read. */
  | { readonly state: "refused"; readonly reason: string };

export interface RootedReader {
  read(root: string, name: string): Promise<RootedFile>;
  /** How many times file contents were read from disk; for reports. */
  readonly reads: number;
}

export function rootedReader(): RootedReader {
  const seen = new Map<string, { readonly stamp: string; readonly text: string; readonly sha256: string }>();
  let reads = 0;
  return {
    get reads() {
      return reads;
    },
    async read(root, name) {
      const path = join(root, name);
      const last = seen.get(path);
      const there = lookAt(path);
      if (there === "missing") {
        seen.delete(path);
        return { state: "missing" };
      }
      // No link, so what was inside the root still is.
      if (last !== undefined && there?.isFile() === true && stampOf(there) === last.stamp)
        return present(last);
      const found = await realPlace(root, path);
      if (found.state !== "found") {
        seen.delete(path);
        return found;
      }
      const opened = await openedAt(path, found.path);
      if ("state" in opened) return opened;
      const { handle } = opened;
      try {
        const stat = await handle.stat({ bigint: true });
        if (!stat.isFile()) return refused(path, "it is not a regular file");
        if (stat.nlink > 1n)
          return refused(path, "it has another name (a hard link), which may lie outside the workspace");
        if (stat.size > BigInt(readLimitBytes))
          return refused(path, `it has ${stat.size} bytes, more than ${readLimitBytes}`);
        const stamp = stampOf(stat);
        if (last?.stamp === stamp) return present(last);
        reads += 1;
        const bytes = Buffer.alloc(Number(stat.size));
        const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
        // No text has a zero byte, but for UTF-16, which would read as noise.
        if (bytes.subarray(0, bytesRead).includes(0)) return refused(path, "it is not text in UTF-8");
        const text = bytes.toString("utf8", 0, bytesRead).replace(/^\ufeff/, "");
        const sha256 = createHash("sha256").update(bytes.subarray(0, bytesRead)).digest("hex");
        seen.set(path, { stamp, text, sha256 });
        return present({ text, sha256 });
      } finally {
        await handle.close();
      }
    },
  };
}

function present({ text, sha256 }: { readonly text: string; readonly sha256: string }): RootedFile {
  return { state: "present", text, sha256 };
}

/** Answers in microseconds, a tenth of what asking a thread takes. Null: opening it tells more. */
function lookAt(path: string): BigIntStats | "missing" | null {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? "missing";
  } catch {
    // What is wrong is found again, and told, by opening it.
    return null;
  }
}

function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

type Place = { readonly state: "found"; readonly path: string } | Exclude<RootedFile, { state: "present" }>;

async function realPlace(root: string, path: string): Promise<Place> {
  try {
    const [realRoot, real] = await Promise.all([realpath(root), realpath(path)]);
    return real.startsWith(realRoot + sep)
      ? { state: "found", path: real }
      : refused(path, "it leads out of the workspace");
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return { state: "missing" };
    return refused(path, code === "ELOOP" ? "its links go in a circle" : unreadable(cause));
  }
}

/** A file that cannot be opened is told, never thrown: it must not silence the agent. */
async function openedAt(
  path: string,
  real: string,
): Promise<{ readonly handle: FileHandle } | Exclude<RootedFile, { state: "present" }>> {
  try {
    // NONBLOCK: opening a FIFO must not hang the turn. NOFOLLOW: the last part was resolved already.
    return { handle: await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK) };
  } catch (cause) {
    const gone = cause instanceof Error && "code" in cause && cause.code === "ENOENT";
    return gone ? { state: "missing" } : refused(path, unreadable(cause));
  }
}

function unreadable(cause: unknown): string {
  return `it cannot be read (${cause instanceof Error && "code" in cause ? String(cause.code) : String(cause)})`;
}

function refused(path: string, reason: string): RootedFile & { readonly state: "refused" } {
  return { state: "refused", reason: `${path} is not injected: ${reason}` };
}
