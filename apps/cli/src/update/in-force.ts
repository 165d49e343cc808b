// Changes what is in force where versions lie beside each other: a tarball's folder, or npm's.
import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { Fault } from "@parley/protocol";
import {
  bringFile,
  fileFor,
  freshFolder,
  settleFolder,
  unpackVersion,
  versionFolders,
  type InForce,
  type Installed,
  type Release,
  type VersionFolders,
} from "@parley/update";

const run = promisify(execFile);

/** The version that the installation came with stays: its launcher falls back to it. */
export function shippedVersion({ root, version }: Installed): string {
  try {
    return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version;
  } catch {
    // A tarball has a link that says it.
    return version;
  }
}

export interface FoldersOptions {
  readonly installed: Installed;
  readonly home: string;
  readonly release: Release | null;
  say(words: string): void;
}

export function foldersInForce({ installed, home, release, say }: FoldersOptions): InForce & {
  readonly folders: VersionFolders;
} {
  const { kind, root, platform } = installed;
  const shipped = shippedVersion(installed);
  const folders = versionFolders(root, shipped);
  let prepared: string | null = null;

  /** The version's folder gets its name once all of it is there and runs. */
  async function unpacked(from: Release, draft: string, toRef: string): Promise<void> {
    const file = fileFor(from, kind, platform);
    const archive = `${draft}/${file.name}`;
    say(`Bringing ${file.name} (${(file.bytes / 1e6).toFixed(1)} MB) ...`);
    await bringFile(from, file, archive);
    const top = kind === "npm" ? "package" : "parley";
    const tree = join(draft, "tree");
    const manifest = await unpackVersion(archive, `${top}/versions/${toRef}/`, tree, `${top}/package.json`);
    if (kind === "npm") await bringNatives(root, tree, manifest ?? "{}");
    const { stdout } = await run(join(tree, "bin/parley"), ["--version"]).catch((error: unknown) => {
      throw new Fault("invalid", `version ${toRef} does not run here: ${String(error)}`);
    });
    if (stdout.trim() !== toRef)
      throw new Fault("invalid", `${file.name} says that it is ${stdout.trim()}, not ${toRef}`);
    settleFolder(tree, folders.folderOf(toRef));
  }

  return {
    folders,
    checkedAfterSwap: false,
    now: () => folders.current(),
    async prepare({ toRef }) {
      if (prepared === toRef) return;
      if (folders.has(toRef)) say(`Version ${toRef} is here already.`);
      else if (release === null) throw new Fault("missing", `there is no version ${toRef} here`);
      else {
        const draft = freshFolder(folders.draftOf(toRef), root);
        try {
          await unpacked(release, draft, toRef);
        } finally {
          rmSync(draft, { recursive: true, force: true });
        }
      }
      prepared = toRef;
    },
    begin({ fromRef }) {
      folders.setPrevious(fromRef);
      folders.writeTrial({ home, starts: 0 });
    },
    swapTo: async (ref) => folders.swapTo(ref),
    end({ state, fromRef, toRef }) {
      folders.endTrial();
      if (state === "done") folders.keepOnly([fromRef, toRef, shipped]);
    },
  };
}

/** From the registry, and only where the ones that are here are of other versions. */
async function bringNatives(root: string, tree: string, manifest: string): Promise<void> {
  const { dependencies = {} } = JSON.parse(manifest) as {
    dependencies?: { readonly [name: string]: string };
  };
  const here = createRequire(join(root, "package.json"));
  const others = Object.entries(dependencies).filter(([name, version]) => versionOf(here, name) !== version);
  if (others.length === 0) return;
  const wanted = Object.entries(dependencies).map(([name, version]) => `${name}@${version}`);
  await run(
    "npm",
    [
      "install",
      "--prefix",
      tree,
      "--no-save",
      "--no-package-lock",
      "--no-audit",
      "--no-fund",
      "--no-update-notifier",
      "--loglevel=error",
      "--ignore-scripts",
      ...wanted,
    ],
    {
      cwd: tree,
    },
  ).catch((error: unknown) => {
    throw new Fault("unavailable", `npm could not bring ${wanted.join(", ")}: ${npmWords(error)}`, {
      cause: error,
    });
  });
}

/** What npm says is wrong, without where it keeps its log. */
function npmWords(error: unknown): string {
  const { stderr = "" } = error as { readonly stderr?: string };
  const said = stderr
    .split("\n")
    .flatMap((line) => /^npm (?:error|ERR!) (?!A complete log|\s*$)(.*)/.exec(line)?.[1] ?? []);
  return said.length === 0 ? String(error) : said.slice(0, 3).join("; ");
}

function versionOf(require: NodeJS.Require, name: string): string | null {
  for (const folder of require.resolve.paths(name) ?? []) {
    const file = join(folder, name, "package.json");
    if (existsSync(file)) return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
  }
  return null;
}
