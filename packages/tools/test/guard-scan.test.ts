// What the look at a workspace finds for a sandbox to keep from change: guarded names, where their links
// lead, files with other names, and its own bounds.
import { link, lstat, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type GuardScan, isMounted, scanGuarded } from "../src/sandbox/guard-scan.ts";

let around = "";
let root = "";
beforeEach(async () => {
  around = await mkdtemp(join(tmpdir(), "parley-scan-"));
  root = join(around, "ws");
  await mkdir(root);
});
afterEach(() => rm(around, { recursive: true, force: true }));

const put = async (...paths: readonly string[]): Promise<void> => {
  for (const path of paths) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), path);
  }
};
const scan = (most?: number): Promise<GuardScan> =>
  scanGuarded({ root, alsoPrompt: ["notes/soul.md"], hidden: [join(root, "hidden")] }, most);

test("guarded names are read-only where they stand, Parley's own folder first, and what lies below them is not named again", async () => {
  await put(
    ".parley/log",
    "a/.git/config",
    "a/.envrc",
    "b/.bashrc",
    "SOUL.md",
    "notes/soul.md",
    "notes/free.md",
  );
  await put("hidden/.bashrc", "a/free", "a/.gitignore");
  const { guarded, readOnly, masked, tooMuch } = await scan();
  expect(readOnly).toEqual([".parley", "SOUL.md", "a/.envrc", "a/.git", "b/.bashrc", "notes/soul.md"]);
  expect([...guarded.keys()].toSorted()).toEqual([...readOnly].toSorted());
  expect([masked, tooMuch]).toEqual([[], false]);
});

test("of a guarded link the place that it leads to is read-only where it is below, not the link itself", async () => {
  await put("real/rc", "real/deep/file");
  await writeFile(join(around, "outside"), "");
  await symlink("real/rc", join(root, ".bashrc"));
  await symlink("real/deep", join(root, ".config"));
  await symlink("../outside", join(root, ".profile"));
  await symlink("nowhere", join(root, ".zshrc"));
  await symlink(".", join(root, ".here"));
  const { guarded, readOnly } = await scan();
  expect([...guarded.keys()].toSorted()).toEqual([".bashrc", ".config", ".here", ".profile", ".zshrc"]);
  expect(readOnly).toEqual(["real/deep", "real/rc"]);
  expect([...guarded.values()].some(isMounted)).toBe(false);
});

test("a file is hidden where a name of it was not met, with every name that was", async () => {
  await put("one", "two", "three");
  await link(join(root, "one"), join(root, "one-again"));
  await link(join(root, "two"), join(around, "two-outside"));
  await link(join(root, "three"), join(root, "three-again"));
  await link(join(root, "three"), join(around, "three-outside"));
  expect([...(await scan()).masked].toSorted()).toEqual(["three", "three-again", "two"]);
});

test("packages that are links of a store are read-only, as their first two hundred files tell", async () => {
  const files = (folder: string, count: number): Promise<void> =>
    put(...Array.from({ length: count }, (_, n) => `${folder}/node_modules/p/f${n}`));
  await files("free", 3);
  await files("linked", 3);
  await link(join(root, "linked/node_modules/p/f2"), join(around, "store"));
  await files("late", 200);
  await put("late/node_modules/p/sub/x");
  await link(join(root, "late/node_modules/p/sub/x"), join(around, "late-store"));
  await put("early/node_modules/x");
  await put(
    ...Array.from({ length: 198 }, (_, n) => `early/node_modules/p/f${n}`),
    "early/node_modules/p/q/x",
  );
  await link(join(root, "early/node_modules/p/q/x"), join(around, "early-store"));
  expect((await scan()).readOnly).toEqual(["early/node_modules", "linked/node_modules"]);
});

test("more entries than are looked at, or more mounts than can be made, let nothing be written", async () => {
  await put("a", "b", "c/d");
  expect((await scan(4)).tooMuch).toBe(false);
  expect((await scan(3)).tooMuch).toBe(true);
  // Each with the folder that it lies in.
  await put(...Array.from({ length: 250 }, (_, n) => `m${n}/.env`));
  expect((await scan()).tooMuch).toBe(false);
  await put(".env");
  expect((await scan()).tooMuch).toBe(true);
});

test("the look goes sixty-four folders down, and the one below is guarded as a whole", async () => {
  await put(`${"d/".repeat(64)}.env`, `${"e/".repeat(65)}.env`);
  const { readOnly } = await scan();
  expect(readOnly).toEqual([`${"d/".repeat(64)}.env`, `${"e/".repeat(64)}e`]);
});

test("what is guarded is known by its file, so that one made anew under the same name is another", async () => {
  await put("AGENTS.md", "elsewhere.md");
  await symlink("elsewhere.md", join(root, "SOUL.md"));
  const identity = async (path: string): Promise<string> => {
    const { dev, ino, birthtimeMs } = await lstat(join(root, path));
    return `${dev}:${ino}:${birthtimeMs}`;
  };
  const { guarded } = await scan();
  expect([...guarded].toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
    ["AGENTS.md", await identity("AGENTS.md")],
    ["SOUL.md", `link ${await identity("SOUL.md")}`],
  ]);
});

test("of a workspace that is a repository without a folder of its own, each part of that is read-only; one below is whole", async () => {
  const parts =
    "HEAD config config.worktree hooks/x info/y objects/z refs/r packed-refs modules/m worktrees/w";
  await put(...parts.split(" "), "free", "hooksx", "below/HEAD", "below/objects/x", "below/refs/x");
  await put("half/HEAD", "half/objects/x", "linked/HEAD", "linked/commondir");
  const { readOnly, guarded } = await scan();
  expect(readOnly).toEqual(
    "HEAD below config config.worktree hooks info linked modules objects packed-refs refs worktrees".split(
      " ",
    ),
  );
  expect([...guarded.keys()].toSorted()).toEqual([...readOnly]);
});

test("a folder of more names than are read at once is looked through to its last one", async () => {
  await put(...Array.from({ length: 1_025 }, (_, n) => `many/f${n}`), "many/z/.env");
  await symlink("many", join(root, "alias"));
  expect((await scan()).readOnly).toEqual(["many/z/.env"]);
  // Below a path of more than a thousand characters nothing is looked at any more: the folder itself is
  // guarded.
  const long = Array.from({ length: 5 }, () => "n".repeat(204)).join("/");
  await put(`${long}/.env`, `${long}/x/.env`);
  expect((await scan()).readOnly).toEqual(["many/z/.env", `${long}/.env`, `${long}/x`]);
});
