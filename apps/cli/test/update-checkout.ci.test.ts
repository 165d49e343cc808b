// A checkout is brought to another commit whole or not at all: what a killed git left half is settled, and
// commits and changes of the operator's own are left alone. Real git, in folders of its own.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock, sleep } from "@parley/protocol";
import type { UpdateRecord } from "@parley/update";
import { afterEach, expect, test } from "vitest";
import { checkoutInForce, checkoutTarget, ownWork, standing } from "../src/update/checkout.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const git = (root: string, ...args: readonly string[]): string =>
  execFileSync("git", ["-C", root, "-c", "user.name=t", "-c", "user.email=t@example.com", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();

function write(root: string, files: { readonly [path: string]: string }): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

function commit(root: string, files: { readonly [path: string]: string }): string {
  write(root, files);
  git(root, "add", "-A");
  git(root, "commit", "-qm", "a step");
  return git(root, "rev-parse", "HEAD");
}

/** A repository with two commits, and a clone that has the first. */
function clone() {
  const work = mkdtempSync(join(tmpdir(), "parley-clone-"));
  folders.push(work);
  const origin = join(work, "origin");
  const here = join(work, "here");
  git(work, "init", "-q", "-b", "main", origin);
  const set = "import { writeFileSync } from 'node:fs'; writeFileSync('.ready', 'set up');";
  const manifest = (version: string) => JSON.stringify({ version });
  const old = commit(origin, {
    ".gitignore": ".ready\n",
    "a.txt": "old",
    "package.json": manifest("0.1.0"),
    "scripts/dev.mjs": set,
  });
  git(work, "clone", "-q", origin, here);
  // Files are written one by one in the order of their names: the second is a slow one.
  const next = commit(origin, {
    ".gitattributes": "m.txt filter=slow\n",
    "a.txt": "new, and longer than before",
    "b.txt": "added",
    "m.txt": "slow",
    "package.json": manifest("0.2.0"),
  });
  return { work, origin, here, old, next };
}

const recordOf = (fromRef: string, toRef: string): UpdateRecord =>
  ({ state: "swapping", fromRef, toRef }) as UpdateRecord;
const state = (root: string): string => git(root, "status", "--porcelain");

test("follows its branch and goes back, and a clean tree is all that either leaves", async () => {
  const { here, old, next } = clone();
  expect(checkoutTarget(here, undefined, undefined)).toEqual({
    ref: next,
    version: `0.2.0 (${next.slice(0, 10)})`,
  });
  const said: string[] = [];
  const inForce = checkoutInForce(here, (words) => said.push(words));
  await inForce.prepare(recordOf(old, next));
  await inForce.swapTo(next);
  expect([inForce.now(), state(here), readFileSync(join(here, ".ready"), "utf8")]).toEqual([
    next,
    "",
    "set up",
  ]);
  await inForce.swapTo(old);
  expect([inForce.now(), state(here), existsSync(join(here, "b.txt"))]).toEqual([old, "", false]);
});

test("a git that is killed in the middle leaves no half: neither files nor locks, and what others wrote stays", async () => {
  const { work, here, old, next } = clone();
  checkoutTarget(here, undefined, undefined);
  const marks = join(work, "slow");
  // As slow as it takes while the mark is there.
  git(
    here,
    "config",
    "filter.slow.smudge",
    `if [ -e ${marks}.go ]; then cat; else touch ${marks}; sleep 60; fi`,
  );
  const merge = spawn("git", ["-C", here, "merge", "--quiet", "--ff-only", next], { detached: true });
  while (!existsSync(marks)) await sleep(systemClock(), 20);
  process.kill(-(merge.pid ?? 0), "SIGKILL");
  await new Promise((done) => merge.once("exit", done));
  writeFileSync(`${marks}.go`, "");
  expect(readFileSync(join(here, "a.txt"), "utf8")).toBe("new, and longer than before");
  expect(existsSync(join(here, ".git/index.lock"))).toBe(true);
  write(here, { "mine.txt": "mine", "scripts/dev.mjs": "changed meanwhile" });

  const said: string[] = [];
  const inForce = checkoutInForce(here, (words) => said.push(words));
  await inForce.settle?.(recordOf(old, next));
  expect(inForce.now()).toBe(old);
  expect(state(here)).toBe("?? mine.txt");
  expect(readFileSync(join(here, "a.txt"), "utf8")).toBe("old");
  expect(said).toEqual([expect.stringContaining(`they are those of ${old.slice(0, 10)} again`)]);
  expect(git(here, "show", "refs/parley/left:scripts/dev.mjs")).toBe("changed meanwhile");
  // And the update can be asked for again.
  await inForce.swapTo(old);
  rmSync(join(here, "mine.txt"));
  git(here, "merge", "--quiet", "--ff-only", next);
  expect(state(here)).toBe("");
});

test("a second kill loses nothing of what was kept after the first, and a folder is no file of another commit", async () => {
  const { here } = clone();
  const base = commit(here, { "a.txt": "old", "d/x.txt": "x" });
  git(here, "rm", "-rq", "d");
  const other = commit(here, { d: "a file now" });
  git(here, "reset", "-q", "--hard", base);
  const inForce = checkoutInForce(here, () => {});
  for (const words of ["mine", "half of another"]) {
    write(here, { "a.txt": words, ".git/index.lock": "" });
    await inForce.settle?.(recordOf(base, other));
    expect([state(here), readFileSync(join(here, "d/x.txt"), "utf8")]).toEqual(["", "x"]);
  }
  expect(git(here, "show", "refs/parley/left:a.txt")).toBe("half of another");
  expect(git(here, "show", "refs/parley/left@{1}:a.txt")).toBe("mine");
});

test("what was not begun is left as it is", async () => {
  const { here, old, next } = clone();
  checkoutTarget(here, undefined, undefined);
  write(here, { "b.txt": "" });
  await checkoutInForce(here, () => {}).settle?.(recordOf(old, next));
  expect(state(here)).toBe("?? b.txt");
});

test("commits and changes of the operator's own are nothing that an update drops", () => {
  const { here, old, next } = clone();
  checkoutTarget(here, undefined, undefined);
  expect([standing(here, old, next), ownWork(here, old, next)]).toEqual(["newer", null]);
  write(here, { "a.txt": "mine" });
  expect(ownWork(here, old, next)).toContain("changes of its own; commit or stash them first: M a.txt");
  const mine = commit(here, {});
  expect(standing(here, mine, next)).toBe("apart");
  expect(ownWork(here, mine, next)).toContain("commits of its own");
  git(here, "reset", "-q", "--hard", next);
  const ahead = commit(here, { "c.txt": "mine" });
  // Nothing newer is there, and going back would lose a commit that is nowhere else.
  expect([standing(here, ahead, next), ownWork(here, ahead, next)]).toEqual([
    "older",
    "commits of the checkout (1) are nowhere else: push or tag them first",
  ]);
  git(here, "tag", "mine");
  expect(ownWork(here, ahead, next)).toBeNull();
});

test("what git cannot do is told in git's words", () => {
  const { here, origin } = clone();
  rmSync(origin, { recursive: true });
  expect(() => checkoutTarget(here, undefined, undefined)).toThrow(/^git could not look: .*origin/);
  expect(() => checkoutTarget(here, "9.9.9", undefined)).toThrow(/^git could not look: /);
  // An option of git's that names a program would run it.
  const program = "--upload-pack=touch ran;";
  expect(() => checkoutTarget(here, program, here)).toThrow(/names no version and no repository/);
  expect(() => checkoutTarget(here, undefined, program)).toThrow(/names no version and no repository/);
});
