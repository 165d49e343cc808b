// Prints sizes at every run of the house test, for people to judge; they never fail it.
import { members, type Tree } from "./tree.ts";

/** A file past this length should be one thought and say so at its top. */
const longLines = 300;

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

/** A short report: file sizes in lines, the widest interfaces, the size of each package. */
export function sizeReport(tree: Tree): string {
  const sources = tree.files.filter((file) => file.area === "src");
  const sorted = sources.map((file) => file.lines).sort((a, b) => a - b);
  const longest = sources.toSorted((a, b) => b.lines - a.lines).slice(0, 8);
  const widest = sources
    .flatMap((file) => file.interfaces.map((found) => ({ ...found, path: file.path })))
    .sort((a, b) => b.members - a.members)
    .slice(0, 8);
  const linesOf = (folder: string, area: string): number =>
    tree.files
      .filter((file) => file.member === folder && file.area === area)
      .reduce((sum, file) => sum + file.lines, 0);
  return [
    `source files ${sources.length}; lines median ${at(sorted, 0.5)}, p90 ${at(sorted, 0.9)}, over ${longLines}: ${sorted.filter((it) => it > longLines).length}`,
    "longest files",
    ...longest.map((file) => `  ${String(file.lines).padStart(5)}  ${file.path}`),
    "widest interfaces (members)",
    ...widest.map((found) => `  ${String(found.members).padStart(5)}  ${found.name}  ${found.path}`),
    "packages (lines of src, of tests)",
    ...members(tree).map(
      (folder) =>
        `  ${String(linesOf(folder, "src")).padStart(5)}  ${String(linesOf(folder, "test")).padStart(5)}  ${folder}`,
    ),
  ].join("\n");
}
