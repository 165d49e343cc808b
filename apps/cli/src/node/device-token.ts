// Keeps which gateway this device is paired with, and its token there, in a file that only its user reads.
import { chmod, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { newToken, replaceFile } from "@parley/config";
import { systemIds } from "@parley/protocol";

export interface PairedWith {
  readonly url: string;
  readonly token: string;
  /** With which the token was chosen; the gateway may not have heard of it yet. A used one does no harm. */
  readonly code?: string;
}

const fileIn = (folder: string): string => join(folder, "device.json");

/** Null before the first pairing. */
export async function pairedWith(folder: string): Promise<PairedWith | null> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    // A copy or a careless backup may have widened it.
    await chmod(fileIn(folder), 0o600);
    return JSON.parse(await readFile(fileIn(folder), "utf8")) as PairedWith;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Stored before the gateway hears of it, so that a pairing whose answer is lost is not lost. */
export async function newPairing(folder: string, url: string, code: string): Promise<PairedWith> {
  const made = { url, token: newToken(systemIds()), code };
  await replaceFile(fileIn(folder), `${JSON.stringify(made)}\n`, { isPrivate: true });
  return made;
}
