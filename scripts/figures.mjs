// Prints the figures by which docs/decisions judges the house: sizes, line widths, imports, forwarding types, folders that import each other.
//   node scripts/figures.mjs [root]   measures the tracked source files below `root` (default: this repository)
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";

const root = resolve(process.argv[2] ?? join(import.meta.dirname, ".."));
const tracked = execFileSync("git", ["ls-files", "apps", "packages"], { cwd: root, encoding: "utf8" }).split(
  "\n",
);
const sources = tracked.filter(
  (path) => /^(apps|packages)\/[^/]+\/src\/.*\.ts$/.test(path) && !path.endsWith(".d.ts"),
);
const specifier = /(?:^|\n)(?:import|export)\b[^;"]*?from\s*"([^"]+)"/g;

const files = sources.map((path) => {
  const text = readFileSync(join(root, path), "utf8");
  const lines = text.split("\n").slice(0, -1);
  const filled = lines.filter((line) => line.trim() !== "");
  return {
    path,
    text,
    lines: lines.length,
    chars: filled.reduce((sum, line) => sum + line.length, 0) / Math.max(1, filled.length),
    widest: Math.max(0, ...lines.map((line) => line.length)),
    imports: [...text.matchAll(specifier)].map(([, from]) => from),
  };
});

const at = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
const count = (list, pattern) => list.reduce((sum, { text }) => sum + [...text.matchAll(pattern)].length, 0);

/** Pairs of folders, below one member's src, of which each imports the other. */
function mutualFolders(list) {
  const edges = new Set();
  for (const { path, imports } of list)
    for (const from of imports.filter((each) => each.startsWith("."))) {
      const [here, there] = [dirname(path), dirname(normalize(join(dirname(path), from)))];
      if (here !== there && existsSync(join(root, there))) edges.add(`${here} ${there}`);
    }
  const isNested = (a, b) => a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
  return [...edges].filter((edge) => {
    const [a, b] = edge.split(" ");
    return a < b && !isNested(a, b) && edges.has(`${b} ${a}`);
  });
}

function report(name, list) {
  const lines = list.map((file) => file.lines);
  const imports = list.map((file) => file.imports.length);
  const total = lines.reduce((sum, each) => sum + each, 0);
  console.log(
    [
      name.padEnd(22),
      String(list.length).padStart(6),
      String(total).padStart(8),
      String(at(lines, 0.5)).padStart(7),
      String(at(lines, 0.9)).padStart(5),
      String(Math.max(0, ...lines)).padStart(5),
      (imports.reduce((sum, each) => sum + each, 0) / Math.max(1, list.length)).toFixed(1).padStart(8),
      String(Math.max(0, ...imports)).padStart(5),
      (list.reduce((sum, file) => sum + file.chars * file.lines, 0) / Math.max(1, total))
        .toFixed(0)
        .padStart(11),
      String(Math.max(0, ...list.map((file) => file.widest))).padStart(7),
      String(count(list, /\binterface \w*(?:Options|Input|Ports)\b/g)).padStart(8),
      String(count(list, /\.\.\.\([^()]*(?:\([^()]*\)[^()]*)*\? \{\}|: \{\}\)/g)).padStart(8),
    ].join(" "),
  );
}

console.log(
  "folder                  files    lines  median   p90   max  imports   max chars/line  widest  options  spreads",
);
report("all", files);
for (const member of new Set(files.map(({ path }) => path.split("/").slice(0, 2).join("/")))) {
  report(
    member,
    files.filter(({ path }) => path.startsWith(`${member}/`)),
  );
}
const mutual = mutualFolders(files);
console.log(`folders that import each other: ${mutual.length}`);
for (const pair of mutual) console.log(`  ${pair}`);
const clauses = files.filter(({ text }) => /^\/\/ (What|Who|Whose|Whether|Where|How) /.test(text)).length;
console.log(`files that open with a What/Who/Whether clause: ${clauses}`);
