// Opens, replaces and removes files below a root. Everything goes through `walk`, so nothing leaves the root.
// A replacement is a rename, so a crash leaves the old file or the new one, and another link to the old
// content keeps it.
import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { open, rename, unlink, type FileHandle } from "node:fs/promises";
import { Fault, isFault } from "@parley/protocol";
import {
  entryPath,
  ignoring,
  isCode,
  mayChange,
  walk,
  type Folder,
  type Place,
  type RootSpec,
} from "./walk.ts";

/** Largest file that is read or written whole. Larger ones are paged, or a command's work. */
const wholeFileBytes = 8 * 1024 * 1024;

export interface OpenFile {
  readonly handle: FileHandle;
  readonly size: number;
  /** Relative to the root. */
  readonly path: string;
}

interface WholeFile {
  readonly path: string;
  readonly bytes: Buffer;
}

export interface Rooted extends RootSpec {
  /** Opens a regular file for reading and closes it after `use`. */
  withFile<T>(path: string, use: (file: OpenFile) => Promise<T>): Promise<T>;
  /** Null when there is no such file. Throws Fault("invalid") beyond `wholeFileBytes`. */
  readWhole(path: string): Promise<WholeFile | null>;
  /**
   * Creates the folders on the way. Keeps the mode of a file that was there. Returns the path below the root,
   * links resolved.
   */
  replace(path: string, bytes: Uint8Array): Promise<{ readonly path: string; readonly created: boolean }>;
  remove(path: string): Promise<void>;
  /** A file that is open for appending, made anew with its folders. The caller closes it. */
  append(path: string): Promise<FileHandle>;
  /** One at a time: whoever changes several files, or reads one to change it. */
  exclusive<T>(run: () => Promise<T>): Promise<T>;
}

export function rooted(spec: RootSpec): Rooted {
  let last: Promise<unknown> = Promise.resolve();
  const withFile: Rooted["withFile"] = (path, use) =>
    walk(spec, path, false, async (place) => {
      const handle = await openFile(place, path);
      try {
        const stat = await handle.stat();
        if (!stat.isFile()) throw notAFile(place.path);
        if (spec.ownNamesOnly === true && isLinkedElsewhere(place.path, stat))
          throw linkedElsewhere(place.path, stat);
        return await use({ handle, size: stat.size, path: place.path });
      } finally {
        await handle.close();
      }
    });
  return {
    ...spec,
    withFile,
    async readWhole(path) {
      try {
        return await withFile(path, async ({ handle, size, path: real }) => {
          if (size > wholeFileBytes)
            throw new Fault(
              "invalid",
              `${real} has ${size} bytes; more than ${wholeFileBytes} cannot be edited`,
            );
          return { path: real, bytes: await readBytes(handle, 0, size) };
        });
      } catch (error) {
        if (isFault(error, "missing")) return null;
        throw error;
      }
    },
    replace: (path, bytes) =>
      walk(spec, path, true, async (place) => {
        const draft = draftName();
        await writeDraft(spec, place, draft, bytes);
        await moveDraft(place, draft);
        return { path: place.path, created: place.stat === null };
      }),
    remove: (path) =>
      walk(spec, path, false, async ({ folder, name, path: real, stat }) => {
        if (stat === null) throw new Fault("missing", `there is no ${real}`);
        if (!stat.isFile()) throw notAFile(real);
        await mayChange(spec, real);
        await spec.rules?.removed?.(real);
        await unlink(entryPath(folder, name));
        await folder.handle.sync();
      }),
    append: (path) =>
      walk(spec, path, true, async ({ folder, name }) => {
        await unlink(entryPath(folder, name)).catch(ignoring("ENOENT"));
        const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW } = constants;
        return open(entryPath(folder, name), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0o600);
      }),
    exclusive(run) {
      const mine = last.then(run, run);
      last = mine.catch(() => undefined); // The caller gets the error; the next change only waits.
      return mine;
    },
  };
}

/** Hashes content, for the check that a change finds the file unchanged. */
export function contentHash(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export async function readBytes(handle: FileHandle, from: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let at = 0;
  while (at < length) {
    const { bytesRead } = await handle.read(bytes, at, length - at, from + at);
    if (bytesRead === 0) break; // It became shorter meanwhile.
    at += bytesRead;
  }
  return bytes.subarray(0, at);
}

async function openFile({ folder, name, path, stat }: Place, asked: string): Promise<FileHandle> {
  if (stat === null) throw new Fault("missing", `there is no file ${path === "" ? asked : path}`);
  if (stat.isDirectory()) throw new Fault("invalid", `${path === "" ? asked : path} is a folder, not a file`);
  if (!stat.isFile()) throw notAFile(path);
  try {
    // NONBLOCK: should it have become a FIFO meanwhile, opening it must not hang the turn.
    return await open(
      entryPath(folder, name),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
  } catch (cause) {
    if (isCode(cause, "EACCES", "EPERM")) throw cause;
    throw new Fault("conflict", `${path} was changed while it was opened; try again`, { cause });
  }
}

let drafts = 0;

/** A name for a draft beside its target; no two of a process are the same. */
export function draftName(): string {
  return `.parley-draft-${process.pid}-${(drafts += 1)}`;
}

export const draftPattern = /^\.parley-draft-\d+-\d+$/;

/** Writes the bytes beside their target, to disk. */
export async function writeDraft(
  spec: RootSpec,
  place: Place,
  draft: string,
  asked: Uint8Array,
): Promise<void> {
  const { folder, path, stat } = place;
  if (stat?.isDirectory() === true)
    throw new Fault("invalid", `${path === "" ? "the workspace" : path} is a folder, not a file`);
  if (stat !== null && !stat.isFile()) throw notAFile(path);
  if (asked.length > wholeFileBytes)
    throw new Fault("invalid", `${asked.length} bytes are too many; ${wholeFileBytes} may be written`);
  const bytes = (await spec.rules?.written(path, asked)) ?? asked;
  await dropDraft(folder, draft); // An older process of this number may have died over it.
  try {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    const handle = await open(entryPath(folder, draft), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
    try {
      await handle.writeFile(bytes);
      if (stat !== null) await handle.chmod(stat.mode & 0o777);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    await dropDraft(folder, draft);
    throw error;
  }
}

export async function moveDraft({ folder, name }: Place, draft: string): Promise<void> {
  try {
    await rename(entryPath(folder, draft), entryPath(folder, name));
    await folder.handle.sync();
  } catch (error) {
    await dropDraft(folder, draft);
    throw error;
  }
}

export async function dropDraft(folder: Folder, draft: string): Promise<void> {
  await unlink(entryPath(folder, draft)).catch(ignoring("ENOENT"));
}

/**
 * What else is called this file may lie outside the root. Below node_modules package managers link from
 * stores of their own.
 */
export function isLinkedElsewhere(path: string, { nlink }: Stats): boolean {
  return nlink > 1 && !path.split("/").includes("node_modules");
}

function linkedElsewhere(path: string, { nlink }: Stats): Fault {
  return new Fault(
    "denied",
    `${path} has ${nlink} names (hard links), and the others may lie outside the workspace; make a copy of it and use that`,
  );
}

function notAFile(path: string): Fault {
  return new Fault("invalid", `${path} is not a regular file`);
}
