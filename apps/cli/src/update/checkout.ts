// Changes what is in force in a checkout that follows git. Its files cannot be replaced at one instant, so
// what a killed update left half is settled by the next one: all files are those of one commit. Commits and
// changes of the operator's own are never dropped.
import { execFile, execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { Fault, sleep, systemClock } from "@parley/protocol";
import type { InForce, UpdateRecord } from "@parley/update";

const run = promisify(execFile);
/** What a killed update started may still write. */
const gitEndsWithinMs = 60_000;
const lookEveryMs = 200;
/** A fetch over a line that lost its other end. */
const fetchWithinMs = 600_000;
/** Where git keeps what an update brought, and what lay half there after a kill. */
const brought = "refs/parley/brought";
const left = "refs/parley/left";

export interface CheckoutTarget {
  readonly ref: string;
  readonly version: string;
}

const git = (root: string, ...args: readonly string[]): string =>
  execFileSync("git", ["-C", root, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 64_000_000,
    timeout: fetchWithinMs,
  }).trim();

/** As people call it: the version, and the commit. */
const named = (root: string, ref: string): string => {
  const { version } = JSON.parse(git(root, "show", `${ref}:package.json`)) as { version: string };
  return `${version} (${ref.slice(0, 10)})`;
};

/** Where the checkout is. Throws Fault("unavailable") with what git says. */
export function checkoutNow(root: string): CheckoutTarget {
  try {
    const ref = git(root, "rev-parse", "HEAD");
    return { ref, version: named(root, ref) };
  } catch (error) {
    throw gitFault(error);
  }
}

function gitFault(error: unknown): Fault {
  const { stderr, code } = error as { readonly stderr?: string; readonly code?: string };
  const why = code === "ENOENT" ? "there is no git on the PATH" : stderr?.trim() || String(error);
  return new Fault("unavailable", `git could not look: ${why}`, { cause: error });
}

/** How a commit stands to the one that is in force. */
export function standing(root: string, now: string, target: string): "same" | "newer" | "older" | "apart" {
  if (now === target) return "same";
  if (isAncestor(root, now, target)) return "newer";
  return isAncestor(root, target, now) ? "older" : "apart";
}

/** Why an update leaves this checkout to its operator; null when it does not. */
export function ownWork(root: string, now: string, target: string): string | null {
  const changed = git(root, "status", "--porcelain", "--untracked-files=no");
  if (changed !== "")
    return `the checkout has changes of its own; commit or stash them first: ${changed.split("\n").slice(0, 5).join(", ")}`;
  const stands = standing(root, now, target);
  if (stands === "apart") return "the checkout has commits of its own: merge or rebase them yourself";
  if (stands !== "older") return null;
  const own = git(
    root,
    "rev-list",
    "--count",
    now,
    "--not",
    target,
    "--remotes",
    "--tags",
    "--glob=refs/parley/*",
  );
  return own === "0" ? null : `commits of the checkout (${own}) are nowhere else: push or tag them first`;
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
  const option = [to, from].find((each) => each?.startsWith("-"));
  if (option !== undefined) throw new Fault("invalid", `${option} names no version and no repository`);
  try {
    if (from !== undefined) git(root, "fetch", "--quiet", "--no-tags", from, to ?? "HEAD");
    else git(root, "fetch", "--quiet", "--tags");
    const names = to === undefined ? ["@{upstream}"] : [`v${to}`, `origin/${to}`, to];
    const ref = from === undefined ? firstOf(root, names) : git(root, "rev-parse", "FETCH_HEAD^{commit}");
    if (ref === null) throw new Fault("missing", `git knows no ${to ?? "branch that this one follows"}`);
    return { ref, version: named(root, ref) };
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw gitFault(error);
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
      const trouble = ownWork(root, fromRef, toRef);
      if (trouble !== null) throw new Fault("conflict", trouble);
    },
    begin: () => {},
    settle: (record) => settled(root, record, say),
    async swapTo(ref) {
      const now = git(root, "rev-parse", "HEAD");
      if (now !== ref) {
        git(
          root,
          ...(isAncestor(root, now, ref)
            ? ["merge", "--quiet", "--ff-only", ref]
            : ["reset", "--quiet", "--keep", ref]),
        );
        // The way back finds it in no branch where it came from a repository that was named for once.
        git(root, "update-ref", brought, ref);
      }
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

/** The tree had no changes when the swap began: what differs from its commit now, a killed git left half. */
async function settled(
  root: string,
  { fromRef, toRef }: Pick<UpdateRecord, "fromRef" | "toRef">,
  say: (words: string) => void,
): Promise<void> {
  const beganMs = systemClock().mono();
  while (gitRuns(root)) {
    if (systemClock().mono() - beganMs > gitEndsWithinMs)
      throw new Fault("conflict", `git still works in ${root}: wait for it, or end it, then run this again`);
    await sleep(systemClock(), lookEveryMs);
  }
  const branch =
    firstOf(root, ["HEAD"]) === null ? "" : git(root, "rev-parse", "--symbolic-full-name", "HEAD");
  const locks = ["index", "HEAD", "ORIG_HEAD", ...(branch.startsWith("refs/") ? [branch] : [])]
    .map((name) => resolve(root, git(root, "rev-parse", "--git-path", `${name}.lock`)))
    .filter((path) => existsSync(path));
  for (const path of locks) rmSync(path);
  const isChanged = git(root, "status", "--porcelain", "--untracked-files=no") !== "";
  if (!isChanged && locks.length === 0) return;
  const here = git(root, "rev-parse", "HEAD");
  say(`The files were half those of another commit; they are those of ${here.slice(0, 10)} again.`);
  if (isChanged) {
    // Somebody may have written in the files meanwhile.
    const kept = git(root, "stash", "create");
    // A second kill leaves something else there: its log keeps what lay there before.
    if (kept !== "") git(root, "update-ref", "--create-reflog", "-m", "left by a kill", left, kept);
    git(root, "reset", "--quiet", "--hard", here);
  }
  const other = here === fromRef ? toRef : fromRef;
  const added = git(root, "diff", "--name-only", "--diff-filter=A", "--no-renames", "-z", here, other);
  for (const path of added.split("\0").filter((each) => each !== "")) dropHalf(root, path, other);
}

/** Removes a file that only the other commit has, as far as it was written; what others wrote stays. */
function dropHalf(root: string, path: string, ref: string): void {
  const file = join(root, path);
  // Where that file is, this commit may have a folder.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return;
  const whole = execFileSync("git", ["-C", root, "cat-file", "--filters", `${ref}:${path}`], {
    maxBuffer: 256_000_000,
  });
  const there = readFileSync(file);
  if (whole.subarray(0, there.length).equals(there)) rmSync(file);
}

/** A git that an update of this checkout started; known where the system shows what runs. */
function gitRuns(root: string): boolean {
  if (!existsSync("/proc/self/cmdline")) return false;
  return readdirSync("/proc").some((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(`git\0-C\0${root}\0`);
    } catch {
      // It ended, or belongs to somebody else.
      return false;
    }
  });
}
