// Changes what is in force, for the two ways to install that Parley updates itself: versions beside each
// other, and a checkout that follows git.
import { execFile, execFileSync } from "node:child_process";
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
  return {
    folders,
    checkedAfterSwap: false,
    now: () => folders.current(),
    async prepare({ toRef }) {
      if (folders.has(toRef)) return say(`Version ${toRef} is here already.`);
      if (release === null) throw new Fault("missing", `there is no version ${toRef} here`);
      const draft = freshFolder(folders.draftOf(toRef), root);
      const file = fileFor(release, kind, platform);
      const archive = `${draft}/${file.name}`;
      say(`Bringing ${file.name} (${(file.bytes / 1e6).toFixed(1)} MB) ...`);
      await bringFile(release, file, archive);
      const top = kind === "npm" ? "package" : "parley";
      const tree = join(draft, "tree");
      const manifest = await unpackVersion(archive, `${top}/versions/${toRef}/`, tree, `${top}/package.json`);
      rmSync(archive);
      if (kind === "npm") await bringNatives(root, tree, manifest ?? "{}");
      const { stdout } = await run(join(tree, "bin/parley"), ["--version"]).catch((error: unknown) => {
        throw new Fault("invalid", `version ${toRef} does not run here: ${String(error)}`);
      });
      if (stdout.trim() !== toRef)
        throw new Fault("invalid", `${file.name} says that it is ${stdout.trim()}, not ${toRef}`);
      settleFolder(tree, folders.folderOf(toRef));
      rmSync(draft, { recursive: true, force: true });
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
      "--ignore-scripts",
      ...wanted,
    ],
    {
      cwd: tree,
    },
  ).catch((error: unknown) => {
    throw new Fault("unavailable", `npm could not bring ${wanted.join(", ")}: ${String(error)}`);
  });
}

function versionOf(require: NodeJS.Require, name: string): string | null {
  for (const folder of require.resolve.paths(name) ?? []) {
    const file = join(folder, name, "package.json");
    if (existsSync(file)) return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
  }
  return null;
}

export interface CheckoutTarget {
  readonly ref: string;
  readonly version: string;
}

const git = (root: string, ...args: readonly string[]): string =>
  execFileSync("git", ["-C", root, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();

/** As people call it: the version, and the commit. */
const named = (root: string, ref: string): string => {
  const { version } = JSON.parse(git(root, "show", `${ref}:package.json`)) as { version: string };
  return `${version} (${ref.slice(0, 10)})`;
};

/** Where the checkout is. Throws Fault("conflict") where it has changes of its own. */
export function checkoutNow(root: string): CheckoutTarget {
  const ref = git(root, "rev-parse", "HEAD");
  return { ref, version: named(root, ref) };
}

/**
 * What `to` names (a version's tag, a branch, a commit), or what the branch follows; of `from`, a repository,
 * or of the one that the branch follows. Throws Fault with what git says.
 */
export function checkoutTarget(
  root: string,
  to: string | undefined,
  from: string | undefined,
): CheckoutTarget {
  try {
    if (from !== undefined) git(root, "fetch", "--quiet", "--no-tags", from, to ?? "HEAD");
    else git(root, "fetch", "--quiet", "--tags");
    const names = to === undefined ? ["@{upstream}"] : [`v${to}`, `origin/${to}`, to];
    const ref = from === undefined ? firstOf(root, names) : git(root, "rev-parse", "FETCH_HEAD^{commit}");
    if (ref === null) throw new Fault("missing", `git knows no ${to ?? "branch that this one follows"}`);
    return { ref, version: named(root, ref) };
  } catch (error) {
    if (error instanceof Fault) throw error;
    const { stderr } = error as { readonly stderr?: string };
    throw new Fault("unavailable", `git could not look: ${stderr?.trim() ?? String(error)}`, {
      cause: error,
    });
  }
}

function firstOf(root: string, names: readonly string[]): string | null {
  for (const name of names) {
    try {
      return git(root, "rev-parse", "--verify", "--quiet", `${name}^{commit}`);
    } catch {
      // No such name; the next one may be.
    }
  }
  return null;
}

function isAncestor(root: string, older: string, newer: string): boolean {
  try {
    git(root, "merge-base", "--is-ancestor", older, newer);
    return true;
  } catch {
    return false;
  }
}

export function checkoutInForce(root: string, say: (words: string) => void): InForce {
  return {
    checkedAfterSwap: true,
    now: () => git(root, "rev-parse", "HEAD"),
    async prepare({ fromRef, toRef }) {
      const changed = git(root, "status", "--porcelain", "--untracked-files=no");
      if (changed !== "")
        throw new Fault(
          "conflict",
          `the checkout has changes of its own; commit or stash them first:\n${changed}`,
        );
      if (!isAncestor(root, fromRef, toRef) && !isAncestor(root, toRef, fromRef))
        throw new Fault("conflict", "the checkout has commits of its own: merge or rebase them yourself");
    },
    begin: () => {},
    async swapTo(ref) {
      const now = git(root, "rev-parse", "HEAD");
      if (now !== ref)
        git(
          root,
          ...(isAncestor(root, now, ref)
            ? ["merge", "--quiet", "--ff-only", ref]
            : ["reset", "--quiet", "--keep", ref]),
        );
      say("Setting up ...");
      await run("node", ["scripts/dev.mjs", "install"], { cwd: root, maxBuffer: 64_000_000 }).catch(
        (error: unknown) => {
          throw new Fault(
            "unavailable",
            `the set-up failed: ${String((error as { stderr?: string }).stderr ?? error)}`,
          );
        },
      );
    },
    end: () => {},
  };
}
