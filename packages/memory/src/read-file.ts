// Lists and reads the memory files of a workspace: regular files whose real place is inside it, without other
// names, of bounded size. What cannot be read is told and never stops a search.
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type BigIntStats,
} from "node:fs";
import { join, sep } from "node:path";
import { curatedFiles, memoryFolder, scopeOfFile, type MemoryScope } from "./scope.ts";

/** Beyond it a file is no note: it is left out of the index and told. */
const mostFileBytes = 10 * 1024 * 1024;
const mostFiles = 20_000;
const mostDepth = 8;

interface MemoryFile {
  /** Relative to the workspace, with "/". */
  readonly path: string;
  readonly scope: MemoryScope;
  /** Changes whenever the content may have. */
  readonly stamp: string;
}

export interface Listing {
  readonly files: readonly MemoryFile[];
  /** Files that are left out, with the reason. */
  readonly problems: readonly { readonly path: string; readonly reason: string }[];
}

const reasonOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : String(error);

export function listFiles(workspace: string): Listing {
  const files: MemoryFile[] = [];
  const problems: { path: string; reason: string }[] = [];
  let isFull = false;
  const look = (path: string): void => {
    const scope = scopeOfFile(path);
    if (scope === null) return;
    const stat = statOf(join(workspace, path));
    if (stat === null) return;
    if (files.length >= mostFiles) {
      // Once, for all that are left out.
      if (!isFull)
        problems.push({ path, reason: `more than ${mostFiles} files: this one and others are left out` });
      isFull = true;
      return;
    }
    if (!stat.isFile() && !stat.isSymbolicLink()) problems.push({ path, reason: "it is not a regular file" });
    else files.push({ path, scope, stamp: stampOf(stat) });
  };
  for (const name of curatedFiles) look(name);
  const walk = (folder: string, depth: number): void => {
    if (depth > mostDepth) return void problems.push({ path: folder, reason: "folders lie too deep" });
    const entries = (() => {
      try {
        return readdirSync(join(workspace, folder), { withFileTypes: true });
      } catch (error) {
        const reason = reasonOf(error);
        if (reason !== "ENOENT") problems.push({ path: folder, reason: `it cannot be listed (${reason})` });
        return [];
      }
    })();
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = `${folder}/${entry.name}`;
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory()) walk(path, depth + 1);
      else look(path);
    }
  };
  // A link in the place of the folder could lead anywhere; one inside it is a file or is not entered.
  if (statOf(join(workspace, memoryFolder))?.isSymbolicLink() === true)
    problems.push({ path: memoryFolder, reason: "it is a link; notes must lie in the workspace" });
  else walk(memoryFolder, 0);
  return { files, problems };
}

function statOf(path: string): BigIntStats | null {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch {
    // A folder on the way may not be entered: whoever opens the file is told so.
    return null;
  }
}

const stampOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(":");

export type ReadFile =
  | { readonly state: "read"; readonly text: string; readonly sha256: string; readonly note: string | null }
  | { readonly state: "missing" }
  | { readonly state: "refused"; readonly reason: string };

/** `path` is one of the listing. Throws nothing. */
export function readMemoryFile(workspace: string, path: string): ReadFile {
  let handle: number | null = null;
  try {
    const root = realpathSync(workspace);
    const real = realpathSync(join(workspace, path));
    if (!real.startsWith(root + sep)) return { state: "refused", reason: "it leads out of the workspace" };
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    handle = openSync(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const stat = fstatSync(handle);
    if (!stat.isFile()) return { state: "refused", reason: "it is not a regular file" };
    if (stat.nlink > 1)
      return { state: "refused", reason: "it has another name (a hard link), which may lie elsewhere" };
    if (stat.size > mostFileBytes)
      return { state: "refused", reason: `it has ${stat.size} bytes, more than ${mostFileBytes}` };
    const bytes = Buffer.alloc(stat.size);
    let at = 0;
    while (at < bytes.length) {
      const count = readSync(handle, bytes, at, bytes.length - at, at);
      if (count === 0) break;
      at += count;
    }
    return decoded(bytes.subarray(0, at));
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === "ENOENT" || reason === "ENOTDIR") return { state: "missing" };
    return { state: "refused", reason: `it cannot be read (${reason})` };
  } finally {
    if (handle !== null) closeSync(handle);
  }
}

function decoded(bytes: Buffer): ReadFile {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const [a, b] = bytes;
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) {
    const text = new TextDecoder(a === 0xff ? "utf-16le" : "utf-16be").decode(bytes);
    return { state: "read", text, sha256, note: "it is UTF-16, not UTF-8" };
  }
  if (bytes.includes(0)) return { state: "refused", reason: "it is not text" };
  const text = utf8(bytes);
  if (text !== null) return { state: "read", text, sha256, note: null };
  // Old editors write Windows-1252, of which every byte is a character.
  const old = new TextDecoder("windows-1252").decode(bytes);
  return { state: "read", text: old, sha256, note: "it is not UTF-8: read as Windows-1252" };
}

/** Null when it is none. Whoever writes the file may not have come to the end of its last character. */
function utf8(bytes: Buffer): string | null {
  try {
    // With "stream" the decoder waits for the rest of a last character, and says no to every wrong byte.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  } catch {
    return null; // Wrong bytes: it is another encoding.
  }
}
