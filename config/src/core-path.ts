// Holds the core path against docs/ARCHITECTURE.md: the ten files that tell how a message becomes an
// answer. A newcomer reads them in one sitting, so each exists, is short, names the next, and depends on no
// earlier one.
import { relativeTarget } from "./source.ts";
import type { Findings, Tree } from "./tree.ts";

/** More than a reader keeps in mind at once. */
const mostLines = 300;
const filesOnThePath = 10;
/** The file's opening comment ends within so many lines. */
const openingLines = 8;

/** The paths of the table below the heading "The core path", in its order. */
function corePathOf(architecture: string): readonly string[] {
  const section = architecture.split(/^## /m).find((part) => part.startsWith("The core path")) ?? "";
  return [...section.matchAll(/^\| `([^`]+)` \|/gm)].flatMap(([, file]) => file ?? []);
}

/** Every source file that `from` reaches in its own package; between packages the walls keep the order. */
function reachedFrom(tree: Tree, from: string): ReadonlySet<string> {
  const byPath = new Map(tree.files.map((file) => [file.path, file]));
  const seen = new Set<string>();
  const walk = (at: string): void => {
    const file = byPath.get(at);
    if (file === undefined || seen.has(at)) return;
    seen.add(at);
    for (const found of file.imports) walk(relativeTarget(file, found.from) ?? "");
  };
  walk(from);
  return seen;
}

/** `architecture`: the text of docs/ARCHITECTURE.md. */
export function corePathFindings(
  tree: Tree,
  architecture: string,
  textOf: (file: string) => string,
): Findings {
  const files = corePathOf(architecture);
  if (files.length !== filesOnThePath)
    return [`docs/ARCHITECTURE.md names ${files.length} files as the core path, not ${filesOnThePath}`];
  return files.flatMap((file, index) => {
    if (!tree.files.some((known) => known.path === file))
      return [`${file} of the core path does not exist: write its new path in docs/ARCHITECTURE.md`];
    const lines = textOf(file).trimEnd().split("\n");
    const next = files[index + 1];
    const opening = lines.slice(0, openingLines).filter((line) => line.startsWith("//"));
    const told = next === undefined || opening.some((line) => line.includes(`Next: ${next}`));
    const back = files.slice(0, index).filter((earlier) => reachedFrom(tree, file).has(earlier));
    return [
      ...(lines.length > mostLines
        ? [
            `${file} has ${lines.length} lines; the core path allows ${mostLines}: move one thought to a file beside it`,
          ]
        : []),
      ...(told ? [] : [`${file}: its opening comment must say "Next: ${next ?? ""}"`]),
      ...back.map(
        (earlier) =>
          `${file} imports ${earlier}, which comes before it on the core path: take it as an argument`,
      ),
    ];
  });
}
