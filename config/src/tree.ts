// Reads the repository for the rules: parses every TypeScript file once and reads every manifest. Rules are
// pure functions from a tree to findings, so a test can show each one a small tree that breaks it.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { readSource, type SourceFile } from "./source.ts";

export interface Manifest {
  readonly name: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export interface Tree {
  readonly files: readonly SourceFile[];
  /** By folder, relative to the root with `/`: "packages/store". The root's own is under ".". */
  readonly manifests: ReadonlyMap<string, Manifest>;
}

/** Findings of a rule, each with the path and what to do. */
export type Findings = readonly string[];

/** Builds a tree from texts by path, relative to the root and with `/`. */
export function treeOf(texts: Readonly<Record<string, string>>): Tree {
  const manifests = new Map<string, Manifest>();
  const files: SourceFile[] = [];
  for (const [name, text] of Object.entries(texts)) {
    if (path.posix.basename(name) === "package.json")
      manifests.set(path.posix.dirname(name), JSON.parse(text) as Manifest);
    else if (name.endsWith(".ts")) files.push(readSource(name, text));
  }
  return { files, manifests };
}

const left = new Set(["node_modules", "dist", "generated", "coverage"]);
const places = ["apps", "packages", "config", "bench"];

/** Reads the repository at `root`. */
export function readTree(root: string): Tree {
  const texts: Record<string, string> = {};
  const walk = (folder: string): void => {
    for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
      const name = `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (!left.has(entry.name) && !entry.name.startsWith(".")) walk(name);
      } else if (entry.name === "package.json" || entry.name.endsWith(".ts")) {
        texts[name] = readFileSync(path.join(root, name), "utf8");
      }
    }
  };
  for (const place of places) if (existsSync(path.join(root, place))) walk(place);
  texts["package.json"] = readFileSync(path.join(root, "package.json"), "utf8");
  return treeOf(texts);
}

/** The folders of the workspace's members. */
export const members = (tree: Tree): readonly string[] =>
  [...tree.manifests.keys()].filter((folder) => folder !== ".");
