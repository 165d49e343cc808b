// Finds hooks: folders that hold a HOOK.md and a module beside it, one level below a root. A workspace, in
// which agents write, cannot take the place of a hook of the same name from elsewhere. What cannot be used is
// kept with its reason; nothing of a hook is loaded here.
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { frontMatter } from "../skills/front-matter.ts";
import { skillText } from "../skills/skill-file.ts";
import { skillId } from "../skills/skill-name.ts";
import { hookManifest, type HookManifest } from "./hook-manifest.ts";

/** In order of precedence. */
export type HookSource = "managed" | "extra" | "bundled" | "workspace";

export interface HookRoot {
  readonly source: HookSource;
  /** Absolute. */
  readonly path: string;
  /** Of a workspace: the agent whose events its hooks hear. */
  readonly agent?: string;
}

export interface FoundHook extends HookRoot {
  readonly manifest: HookManifest;
  /** Absolute path of its HOOK.md. */
  readonly file: string;
  readonly folder: string;
  /** Absolute path of its module; null for those that Parley brings, whose code is Parley's own. */
  readonly handler: string | null;
  readonly notes: readonly string[];
}

interface RefusedHook {
  readonly source: HookSource;
  readonly file: string;
  readonly reason: string;
}

export interface HookShelf {
  /** One for each name, by name. */
  readonly hooks: readonly FoundHook[];
  readonly shadowed: readonly { readonly hook: FoundHook; readonly by: FoundHook }[];
  readonly refused: readonly RefusedHook[];
}

const mostFolders = 200;
const mostFileBytes = 256_000;
const mostHandlerBytes = 4_194_304;
const mostFiles = 200;
const mostFolderBytes = 8_388_608;
/** In the order in which they are looked for. */
const handlerNames = ["handler.ts", "handler.js", "handler.mjs"];
/** Not in a workspace: only names that begin with "handler" are guarded from agents there. */
const indexNames = ["index.ts", "index.js", "index.mjs"];

export async function hookShelf(roots: readonly HookRoot[]): Promise<HookShelf> {
  const byName = new Map<string, FoundHook>();
  const shadowed: { hook: FoundHook; by: FoundHook }[] = [];
  const refused: RefusedHook[] = [];
  for (const root of roots) {
    for (const found of await hooksIn(root)) {
      if ("reason" in found) {
        refused.push(found);
        continue;
      }
      const id = skillId(found.manifest.name);
      const by = byName.get(id);
      if (by === undefined) byName.set(id, found);
      else if (by.file !== found.file) shadowed.push({ hook: found, by });
    }
  }
  const hooks = [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, hook]) => hook);
  return { hooks, shadowed, refused };
}

async function hooksIn(root: HookRoot): Promise<readonly (FoundHook | RefusedHook)[]> {
  const { source, path } = root;
  let names: readonly string[];
  try {
    names = readdirSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    return [{ source, file: path, reason: `the folder cannot be read: ${code ?? String(error)}` }];
  }
  const wanted = names.filter((name) => !name.startsWith(".") && name !== "node_modules").toSorted();
  const cut =
    wanted.length > mostFolders
      ? [
          {
            source,
            file: path,
            reason: `it has more than ${mostFolders} folders; the others are not looked into`,
          },
        ]
      : [];
  const found = await Promise.all(wanted.slice(0, mostFolders).map((name) => hookAt(root, join(path, name))));
  return [...found.flatMap((each) => each ?? []), ...cut];
}

/** Null where there is no HOOK.md. */
async function hookAt(root: HookRoot, folder: string): Promise<FoundHook | RefusedHook | null> {
  const { source, path } = root;
  const file = join(folder, "HOOK.md");
  const refuse = (reason: string): RefusedHook => ({ source, file, reason });
  const place = { root: path, ownNameOnly: source === "workspace" };
  const read = await skillText({ ...place, path: file }, mostFileBytes);
  if (read.kind === "missing" || read.kind === "unchanged") return null;
  // The operator may link folders into his own; in a workspace a link would reach what nobody enabled.
  if (source === "workspace" && lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true)
    return refuse("its folder is a link");
  if (read.kind === "refused") return refuse(read.reason);
  if (read.text === null) return refuse("it is not text");
  const matter = frontMatter(read.text);
  if (!matter.ok) return refuse(matter.reason);
  const reading = hookManifest(matter, basename(folder));
  if (!reading.ok) return refuse(reading.reason);
  const { manifest, notes } = reading;
  const names = source === "workspace" ? handlerNames : [...handlerNames, ...indexNames];
  const handler = source === "bundled" ? null : handlerIn(names, folder);
  if (handler === undefined) return refuse(`it has no module: one of ${names.join(", ")} beside HOOK.md`);
  if (handler !== null) {
    const module = await skillText({ ...place, path: handler }, mostHandlerBytes);
    if (module.kind === "refused") return refuse(`its module ${basename(handler)}: ${module.reason}`);
  }
  return { ...root, manifest, file, folder, handler, notes };
}

function handlerIn(names: readonly string[], folder: string): string | undefined {
  return names.map((name) => join(folder, name)).find((path) => existsSync(path));
}

/**
 * Of the names and the bytes of everything below a hook's folder. Null for a folder with links, or with more
 * than a hook has.
 */
export async function hookFolderHash(folder: string): Promise<string | null> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  if (files.length > mostFiles || files.some((entry) => !entry.isFile())) return null;
  const hash = createHash("sha256");
  let bytes = 0;
  for (const path of files.map(({ parentPath, name }) => join(parentPath, name)).toSorted()) {
    bytes += (await stat(path)).size;
    if (bytes > mostFolderBytes) return null;
    const content = await readFile(path);
    hash.update(`${relative(folder, path)}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}
