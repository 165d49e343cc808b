// Holds the paths that documents name against the repository, so that no page sends its reader to a file that
// moved.
import path from "node:path";
import type { Findings } from "./tree.ts";

/** A path in backquotes with a folder: one without is a file of the operator's, like `parley.json5`. */
const named = /`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|mjs))`/g;

/** `files`: every tracked path. A document may name the end of a path alone. */
export function docFindings(documents: Readonly<Record<string, string>>, files: readonly string[]): Findings {
  const known = (name: string): boolean => files.some((file) => file === name || file.endsWith(`/${name}`));
  return Object.entries(documents).flatMap(([document, text]) =>
    [...text.matchAll(named)].flatMap(([, name = ""]) =>
      known(path.posix.normalize(name))
        ? []
        : [
            `${document} names ${name}, which is no file of this repository (a new file counts once git knows it)`,
          ],
    ),
  );
}
