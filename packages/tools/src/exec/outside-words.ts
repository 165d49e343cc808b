// Finds the words of a command that lead out of what the file tools may touch: a program that was allowed by
// its name reads and writes no more than they.
import { access, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isFault } from "@parley/protocol";
import { isLinkedElsewhere } from "../files/rooted.ts";
import { ignoring, partsBelow, walk, type ChangeRules, type RootSpec } from "../files/walk.ts";
import type { WorkspaceFiles } from "../files/workspace-files.ts";
import { gitForm } from "./git-form.ts";
import type { KnownForm } from "./known-form.ts";
import { programName } from "./program-name.ts";

type Rules = Pick<ChangeRules, "refusal">;

export interface OutsideRequest {
  /** What the command touches, as far as that is known. */
  readonly touches: readonly KnownForm[];
  /** The commands in it, with their programs found. */
  readonly parts: readonly (readonly string[])[];
  /** Below the workspace. */
  readonly folder: string;
  readonly files: Pick<WorkspaceFiles, "own" | "readable">;
  /** The rules of the turn's file tools. */
  readonly rules: () => Promise<Rules>;
}

/** Each once. */
export async function outsideWords({
  touches,
  parts,
  folder,
  files,
  rules,
}: OutsideRequest): Promise<readonly string[]> {
  if (touches.length === 0) return [];
  // Whoever put the workspace around the state folder: what looks through folders would look through that
  // one.
  const { root, forbidden = [] } = files.own;
  const around = forbidden.find((each) => each.startsWith(root.endsWith("/") ? root : `${root}/`));
  if (around !== undefined) return [around];
  const at = (word: string): string => (word.startsWith("/") ? word : `./${folder}/${word}`);
  const out = new Set<string>();
  for (const form of touches)
    for (const word of form.reads)
      if (word !== "-" && (await cannotBeRead(at(word), form, files))) out.add(word);
  const written = touches.flatMap(({ writes }) => writes);
  const made = written.length === 0 ? null : await rules();
  for (const word of written)
    if (made === null || (await cannotBeMade(at(word), made, files.own))) out.add(word);
  for (const [program = "", ...args] of parts) {
    const git = programName(program) === "git" ? gitForm(args) : null;
    const repository = git === null ? null : await repositoryAround(at(git.folder), files);
    if (repository !== null) out.add(repository);
  }
  return [...out];
}

async function cannotBeRead(
  path: string,
  { filesOnly = false }: KnownForm,
  files: OutsideRequest["files"],
): Promise<boolean> {
  const spec = files.readable(path);
  try {
    return await walk(spec, path, false, async ({ path: real, stat: found }) => {
      if (found === null) return false;
      return found.isDirectory() ? filesOnly : spec.ownNamesOnly === true && isLinkedElsewhere(real, found);
    });
  } catch (error) {
    if (!isFault(error)) throw error;
    // What is not there the program cannot reach either. Should it be there when it looks, ".." leads on from
    // it.
    return !isFault(error, "missing") || climbs(path);
  }
}

async function cannotBeMade(path: string, { refusal }: Rules, own: RootSpec): Promise<boolean> {
  const real = await leadsTo(path, own);
  // What a link is called counts as much as where it leads.
  const written = join(...(partsBelow(own, path) ?? [".."]));
  return real === null || (await refusal(real)) !== null || (await refusal(written)) !== null;
}

/** Below the root, without links as far as it is there. Null: elsewhere, or nobody can say. */
async function leadsTo(path: string, own: RootSpec): Promise<string | null> {
  const parts = path.split("/");
  for (const rest: string[] = []; ; rest.unshift(parts.pop() ?? "")) {
    try {
      return await walk(own, parts.join("/"), false, async (place) => join(place.path, ...rest));
    } catch (error) {
      if (!isFault(error)) throw error;
      // A program makes one folder after the other, and then goes up from the last.
      if (!isFault(error, "missing") || climbs(path)) return null;
    }
  }
}

function climbs(path: string): boolean {
  return path.split("/").includes("..");
}

/** git looks upwards for a repository, also past the workspace: then it tells of files that lie outside. */
async function repositoryAround(folder: string, files: OutsideRequest["files"]): Promise<string | null> {
  const spec = files.readable(folder);
  const root = await realpath(spec.root);
  let at = await walk(spec, `${folder}/.`, false, async ({ path }) => join(root, path)).catch(
    (error: unknown) => {
      if (isFault(error)) return null; // Nothing is there: git says so.
      throw error;
    },
  );
  while (at !== null && !(await isRepository(join(at, ".git")))) at = dirname(at) === at ? null : dirname(at);
  return at === null || at === root || at.startsWith(root.endsWith("/") ? root : `${root}/`)
    ? null
    : join(at, ".git");
}

/** Or a file that leads to one. A folder of that name that lacks one of these is none to git. */
async function isRepository(path: string): Promise<boolean> {
  const found = await stat(path).catch(ignoring("ENOENT", "ENOTDIR", "EACCES", "ELOOP"));
  if (found?.isDirectory() !== true) return found !== null;
  const parts = ["HEAD", "objects", "refs"].map((name) =>
    access(join(path, name)).then(() => true, ignoring("ENOENT", "ENOTDIR", "EACCES")),
  );
  return (await Promise.all(parts)).every((there) => there === true);
}
