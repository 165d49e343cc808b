// Replaces a file so that a reader, or a machine that stops half-way, finds the old file or the new one
// whole.
import { open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Fault } from "@parley/protocol";
import { giveTo } from "./owned.ts";

/** A config may hold secrets. */
const newFileMode = 0o600;

/**
 * A link is followed and stays a link; the mode of the file stays, unless it is to be `isPrivate`, and where
 * root writes so does its owner. Throws Fault("unavailable") when the folder cannot be written.
 */
export async function replaceFile(path: string, text: string, { isPrivate = false } = {}): Promise<void> {
  const target = await targetOf(path);
  const mode = isPrivate
    ? newFileMode
    : await stat(target).then((found) => found.mode & 0o777, ifMissing(newFileMode));
  const fresh = `${target}.${process.pid}.new`;
  try {
    // One of a process that died here.
    await rm(fresh, { force: true });
    const file = await open(fresh, "wx", mode);
    try {
      giveTo(file.fd, (await stat(target).catch(ifMissing(null))) === null ? dirname(target) : target);
      await file.chmod(mode);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, target);
    const folder = await open(dirname(target), "r");
    await folder.sync().finally(() => folder.close());
  } catch (cause) {
    await rm(fresh, { force: true });
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Fault(
      "unavailable",
      `${target} could not be written: ${reason}. Check that the daemon's user may write its folder`,
      {
        cause,
      },
    );
  }
}

/** Also of a link that leads to no file yet. */
async function targetOf(path: string): Promise<string> {
  const target = await realpath(path).catch(ifMissing(null));
  if (target !== null) return target;
  const next = await readlink(path).catch(() => null);
  return next === null ? path : targetOf(resolve(dirname(path), next));
}

function ifMissing<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return instead;
    throw error;
  };
}
