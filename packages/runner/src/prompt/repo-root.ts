// Finds the repository that holds a folder, once per folder, for the prompt's runtime line.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

const mostLevels = 12;

export function repoRoots(): (folder: string) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (folder) => {
    if (!known.has(folder)) known.set(folder, repoRoot(folder));
    return known.get(folder);
  };
}

function repoRoot(folder: string): string | undefined {
  let at = folder;
  for (let level = 0; level < mostLevels; level += 1) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return undefined;
    at = dirname(at);
  }
  return undefined;
}
