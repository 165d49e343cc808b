// Which files of the workspace a command runs, or hands to a program that runs what it is given, with their content as it is now. Part of the
// action: a script that was changed after a person had read it, or after "always", is another action.
import { createHash } from "node:crypto";
import { Fault, isFault } from "@parley/protocol";
import type { OpenFile, Rooted } from "../files/rooted.ts";
import { isCarrier, startingOption } from "./carriers.ts";

export interface BoundFile {
  /** Below the workspace. */
  readonly path: string;
  /** Hex. */
  readonly sha256: string;
}

/** More words stand in no command that a person could read. */
const mostNames = 2_000;
/** Of a longer file the beginning and its length. */
const hashedBytes = 32 * 1024 * 1024;
const chunkBytes = 1024 * 1024;

/** `parts`: the commands, their programs found; null where that is not certain, then the words of `line` count. `folder`: below the workspace. */
export async function boundFiles(
  parts: readonly (readonly string[])[] | null,
  line: string,
  folder: string,
  files: Rooted,
): Promise<readonly BoundFile[]> {
  const names = parts === null ? perhapsRun(pieces([line])) : parts.flatMap(runBy);
  const unique = new Set(names);
  if (unique.size > mostNames) throw new Fault("invalid", `it has more than ${mostNames} words that may name a file; put it into a script`);
  const found = new Map<string, BoundFile>();
  for (const name of unique) {
    const file = await contentOf(name, folder, files);
    if (file !== null) found.set(file.path, file);
  }
  return [...found.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** The program, and what a carrier may be given to run: any of its words, also inside one ("sh -c 'node x.js'", "--require=./x.js"). */
function runBy(argv: readonly string[]): readonly string[] {
  const [program = "", ...args] = argv;
  return isCarrier(program) || startingOption(argv) !== null ? [program, ...pieces(args)] : [program];
}

/** A line that only a shell can read may run a path; other names only if something in it runs what it is given. */
function perhapsRun(words: readonly string[]): readonly string[] {
  const isGiven = words.some((word) => isCarrier(word) || [".", "source"].includes(word));
  return isGiven ? words : words.filter((word) => word.includes("/"));
}

function pieces(words: readonly string[]): readonly string[] {
  return words.flatMap((word) => [word, ...word.split(/[\s'"`;|&<>(){}$=,]+/)]).filter((piece) => piece !== "");
}

/** Null when it is no file of the workspace. */
async function contentOf(name: string, folder: string, files: Rooted): Promise<BoundFile | null> {
  try {
    return await files.withFile(name.startsWith("/") ? name : folder === "" ? name : `${folder}/${name}`, hashed);
  } catch (error) {
    if (isFault(error)) return null; // A word that is no path, or a path that leads elsewhere: nothing that the agent's file tools can change.
    throw error;
  }
}

async function hashed({ handle, size, path }: OpenFile): Promise<BoundFile> {
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(Math.min(chunkBytes, size));
  for (let at = 0; at < Math.min(size, hashedBytes);) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, at);
    if (bytesRead === 0) break; // It became shorter meanwhile: another content.
    hash.update(chunk.subarray(0, bytesRead));
    at += bytesRead;
  }
  if (size > hashedBytes) hash.update(`and ${size - hashedBytes} bytes more`);
  return { path, sha256: hash.digest("hex") };
}
