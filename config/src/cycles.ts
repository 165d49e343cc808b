// Finds import cycles between files and between packages. Types and lazy imports count, because a reader who
// follows them goes in circles too.
import { packageOf, relativeTarget } from "./source.ts";
import { members, type Findings, type Tree } from "./tree.ts";

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** The first cycle met from each node, as a closed path; each cycle once. */
function cyclesOf(graph: Graph): string[][] {
  const done = new Set<string>();
  const cycles: string[][] = [];
  const walk = (node: string, trail: readonly string[]): void => {
    const back = trail.indexOf(node);
    if (back >= 0) return void cycles.push([...trail.slice(back), node]);
    if (done.has(node)) return;
    for (const next of graph.get(node) ?? []) walk(next, [...trail, node]);
    done.add(node);
  };
  for (const node of graph.keys()) walk(node, []);
  return cycles;
}

export function cycleFindings(tree: Tree): Findings {
  const files: Graph = new Map(
    tree.files.map((file) => [
      file.path,
      new Set(file.imports.flatMap((found) => relativeTarget(file, found.from) ?? [])),
    ]),
  );
  const folderOf = new Map([...tree.manifests].map(([folder, { name }]) => [name, folder]));
  const packages: Graph = new Map(
    members(tree).map((folder) => {
      // Tests may look at a neighbour that looks back only in its own tests (testkit).
      const sources = tree.files.filter((file) => file.member === folder && file.area === "src");
      return [
        folder,
        new Set(
          sources.flatMap((file) =>
            file.imports.flatMap((found) => folderOf.get(packageOf(found.from)) ?? []),
          ),
        ),
      ];
    }),
  );
  return [...cyclesOf(files), ...cyclesOf(packages)].map(
    (cycle) =>
      `import cycle: ${cycle.join(" -> ")}; move what both sides need to a file of its own, or take it as an argument`,
  );
}
