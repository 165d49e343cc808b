// Which words of a command lead out of what the file tools may touch: a program that was allowed by its name reads and writes no more than they.
import { isFault } from "@parley/protocol";
import { walk } from "../files/walk.ts";
import type { WorkspaceFiles } from "../files/workspace-files.ts";
import { knownForm } from "./known-programs.ts";

/** `argv`: with its program found; `folder`: below the workspace. Nothing for a command that nobody vouches for. */
export async function outsideWords(
  argv: readonly string[],
  folder: string,
  files: Pick<WorkspaceFiles, "own" | "readable">,
): Promise<readonly string[]> {
  const form = knownForm(argv);
  if (form === null) return [];
  // Whoever put the workspace around the state folder: what looks through folders would look through that one.
  const { root, forbidden = [] } = files.own;
  const around = forbidden.find((each) => each.startsWith(root.endsWith("/") ? root : `${root}/`));
  if (around !== undefined) return [around];
  const at = (word: string): string => (word.startsWith("/") ? word : `./${folder}/${word}`);
  const leadsOut = async (word: string, reads: boolean): Promise<boolean> => {
    const path = at(word);
    try {
      return await walk(reads ? files.readable(path) : files.own, path, false, async (place) => !reads && isGits(place.path));
    } catch (error) {
      // What is not there, or is no folder, cannot be reached by the program either.
      if (isFault(error, "missing") || isFault(error, "invalid")) return !reads && isGits(word);
      if (isFault(error)) return true;
      throw error;
    }
  };
  const out: string[] = [];
  for (const word of form.reads) if (word !== "-" && (await leadsOut(word, true))) out.push(word);
  for (const word of form.writes) if (await leadsOut(word, false)) out.push(word);
  return out;
}

function isGits(path: string): boolean {
  return path.split("/").some((part) => part.toLowerCase() === ".git");
}
