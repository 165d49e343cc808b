// Finds the files of the workspace that a command runs, or passes to a program that runs its input, with
// their current content. They belong to the action: a script that was changed after a person had read it, or
// after "always", is another action.
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { basename, matchesGlob } from "node:path";
import { Fault, isFault } from "@parley/protocol";
import type { OpenFile, Rooted } from "../files/rooted.ts";
import { entryPath, partsBelow, walk } from "../files/walk.ts";
import type { BoundFile } from "./bound-file.ts";
import { closedScripts, type ScriptPlace } from "./closed-script.ts";
import type { KnownForm } from "./known-form.ts";
import { knownForm } from "./known-programs.ts";

export interface WhatRuns {
  readonly files: readonly BoundFile[];
  /** Nothing else of the workspace runs. */
  readonly closed: boolean;
  /** What it touches, as far as that is known. */
  readonly touches: readonly KnownForm[];
}

export interface WhatRunsRequest {
  /**
   * The commands with their programs found; null where that is not certain, and then the words of `line`
   * count.
   */
  readonly parts: readonly (readonly string[])[] | null;
  readonly line: string;
  /** Where a shell sends their output. */
  readonly writes: readonly string[];
  /** Below the workspace. */
  readonly folder: string;
  readonly files: Rooted;
  readonly find: ScriptPlace["find"];
}

/** A person could not read a command of more words. */
const mostNames = 2_000;
/** No system has a longer path (PATH_MAX). */
const longestWord = 4_096;
/** Folders that it may go to before it names a file. */
const mostFolders = 32;
/** Of a longer file the hash covers the beginning and the length. */
const hashedBytes = 32 * 1024 * 1024;
const chunkBytes = 1024 * 1024;

export async function whatRuns({
  parts,
  line,
  writes,
  folder,
  files,
  find,
}: WhatRunsRequest): Promise<WhatRuns> {
  const at = (word: string): string => within(folder, word);
  const closed = parts === null ? null : await closedScripts(parts, writes, { files, at, find });
  if (closed !== null)
    return { files: closed.scripts.toSorted(byPath), closed: true, touches: closed.touches };
  const words =
    parts === null
      ? pieces([line])
      : parts.flatMap((argv) => (knownForm(argv) === null ? [argv[0] ?? "", ...pieces(argv.slice(1))] : []));
  const named = await namedFrom([...new Set([...words, ...implied(words)])], folder, files);
  const found = new Map<string, BoundFile>();
  for (const name of named) {
    const file = await contentOf(name, files);
    if (file !== null) found.set(file.path, file);
  }
  return { files: [...found.values()].toSorted(byPath), closed: false, touches: [] };
}

function byPath(a: BoundFile, b: BoundFile): number {
  return a.path < b.path ? -1 : 1;
}

/** Also splits words with paths inside ("sh -c 'node x.js'", "--require=./x.js"). */
function pieces(words: readonly string[]): readonly string[] {
  return words
    .flatMap((word) => [word, ...word.split(/[\s'"`;|&<>(){}$=,]+/)])
    .filter((piece) => piece !== "");
}

/**
 * Files that a program runs although the command does not name them. No list of these is complete: it only
 * makes more of what would run visible.
 */
const builds: { readonly [program: string]: readonly string[] } = {
  make: ["GNUmakefile", "makefile", "Makefile"],
  npm: ["package.json"],
  pnpm: ["package.json"],
  yarn: ["package.json"],
  node: ["package.json", "index.js"],
  cargo: ["Cargo.toml", "build.rs"],
  just: ["justfile"],
};

function implied(words: readonly string[]): readonly string[] {
  const modules = words.includes("-m") ? words.map((word) => word.replaceAll(".", "/")) : [];
  return [
    ...words.flatMap((word) => (Object.hasOwn(builds, basename(word)) ? (builds[basename(word)] ?? []) : [])),
    ...modules.flatMap((name) => [`${name}.py`, `${name}/__main__.py`, `${name}/__init__.py`]),
  ];
}

/**
 * The paths that the words may mean: from the command's folder, and from those that it names and may go to.
 */
async function namedFrom(
  words: readonly string[],
  folder: string,
  files: Rooted,
): Promise<ReadonlySet<string>> {
  const unique = new Set(words);
  const listed = new Map<string, Promise<readonly string[]>>();
  const entries = (path: string): Promise<readonly string[]> => {
    const known = listed.get(path) ?? entriesOf(path, files);
    listed.set(path, known);
    return known;
  };
  if (unique.size > mostNames)
    throw new Fault(
      "invalid",
      `it has more than ${mostNames} words that may name a file; put it into a script`,
    );
  const named = new Set<string>();
  const folders = new Set([folder]);
  for (const from of folders) {
    for (const word of unique) {
      if (word.length > longestWord) continue;
      const below = word.startsWith("/") ? partsBelow(files, word) : word.split("/");
      for (const path of below === null
        ? []
        : await matching(word.startsWith("/") ? "" : from, below, entries))
        named.add(path);
      if (named.size > mostNames)
        throw new Fault("invalid", `it names more than ${mostNames} files; name fewer`);
    }
    for (const path of named)
      if (folders.size < mostFolders && (await entries(path)).length > 0) folders.add(path);
  }
  return named;
}

/**
 * What a path with patterns in it comes to, as a shell reads it. Of one without, only whether its first part
 * is there.
 */
async function matching(
  from: string,
  [first = "", ...rest]: readonly string[],
  entries: (folder: string) => Promise<readonly string[]>,
): Promise<string[]> {
  if (first === "" || first === ".") return rest.length === 0 ? [] : matching(from, rest, entries);
  const there = first === ".." ? [".."] : await entries(from);
  const found = /[*?[]/.test(first)
    ? there.filter((each) => matchesGlob(each, first))
    : there.filter((each) => each === first);
  if (rest.length === 0) return found.map((each) => within(from, each));
  if (!/[*?[]/.test(rest.join("/"))) return found.map((each) => within(from, [each, ...rest].join("/")));
  return (await Promise.all(found.map((each) => matching(within(from, each), rest, entries)))).flat();
}

function within(folder: string, word: string): string {
  return word.startsWith("/") || folder === "" ? word : `${folder}/${word}`;
}

/** Nothing where there is no folder of the workspace. */
async function entriesOf(path: string, files: Rooted): Promise<readonly string[]> {
  try {
    return await walk(files, `${path === "" ? "." : path}/.`, false, async ({ folder }) =>
      readdir(entryPath(folder, ".")),
    );
  } catch (error) {
    if (isFault(error)) return [];
    throw error;
  }
}

/** Null when it is no file of the workspace. */
async function contentOf(name: string, files: Rooted): Promise<BoundFile | null> {
  try {
    return await files.withFile(name, hashed);
  } catch (error) {
    // A word that is no path, or a path that leads elsewhere: nothing that the agent's file tools can change.
    if (isFault(error)) return null;
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
