// Where a path leads below a root, in whole answers: the place or the refusal with its reason, both sides of
// each limit, and what is on the disk after each change.
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFault } from "@parley/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applyChanges, finishChanges, type Change } from "../src/files/change-set.ts";
import { dropOtherRights, openUp } from "../src/files/open-up.ts";
import { filesBelow, promptFiles } from "../src/files/prompt-files.ts";
import { contentHash, draftName, readBytes, rooted } from "../src/files/rooted.ts";
import { partsBelow, walk, type ChangeRules, type RootSpec } from "../src/files/walk.ts";

let around: string;
let root: string;
beforeEach(async () => {
  around = await realpath(await mkdtemp(join(tmpdir(), "parley-rooted-")));
  root = join(around, "ws");
  await mkdir(root);
});
afterEach(() => rm(around, { recursive: true, force: true }));
const at = (path: string): string => join(root, path);
const put = async (path: string, text = path): Promise<void> => {
  await mkdir(join(at(path), ".."), { recursive: true });
  await writeFile(at(path), text);
};
const text = (path: string): Promise<string> => readFile(at(path), "utf8");
const refusal = (error: unknown): string => {
  if (isFault(error)) return `${error.code}: ${error.message}`;
  throw error;
};
const place = (path: string, spec: Partial<RootSpec> = {}, make = false): Promise<string> =>
  walk({ root, ...spec }, path, make, async ({ path: real, name, folder, stat: found }) => {
    const what = found === null ? "nothing" : found.isDirectory() ? "folder" : "file";
    return [real, name, folder.path, what].join("|");
  }).catch(refusal);

describe("a path", () => {
  test("leads to a name in an open folder, or is refused for the reason that it has", async () => {
    await put("a/b/file");
    await symlink("b/file", at("a/near"));
    await symlink("../a/b", at("a/folder"));
    await symlink(at("a/b/file"), at("a/b/absolute"));
    await symlink("a/b", at("down"));
    await symlink("../secret", at("up"));
    await symlink("/etc", at("a/etc"));
    await symlink("self", at("self"));
    await symlink("none/deeper", at("dangling"));
    const rows = {
      ".": "|.||folder",
      "./": "|.||folder",
      a: "a|.|a|folder",
      "a/./b//file": "a/b/file|file|a/b|file",
      "a/b/..": "a|.|a|folder",
      "a/b/../b/new": "a/b/new|new|a/b|nothing",
      "a/near": "a/b/file|file|a/b|file",
      "a/folder/file": "a/b/file|file|a/b|file",
      "down/absolute": "a/b/file|file|a/b|file",
      "down/..": "a|.|a|folder",
      [at("a/b/file")]: "a/b/file|file|a/b|file",
      [root]: "|.||folder",
      [`${root}/`]: "|.||folder",
      "a/none/file": "missing: there is no a/none",
      "a/none/": "missing: a/none/: a/none is not a folder",
      "a/b/file/": "invalid: a/b/file/: a/b/file is not a folder",
      "a/b/file/x": "invalid: a/b/file/x: a/b/file is not a folder",
      dangling: "missing: there is no none",
      "..": "denied: .. is outside the workspace",
      "a/../..": "denied: a/../.. is outside the workspace",
      "/etc/passwd": "denied: /etc/passwd is outside the workspace",
      [`${root}x`]: `denied: ${root}x is outside the workspace`,
      up: "denied: up is outside the workspace",
      "a/etc/passwd": "denied: a/etc/passwd leads out of the workspace by the link a/etc",
      self: "invalid: self: its links go in a circle",
      " ": "invalid: the path is empty; name a file",
      "a\0": "invalid: the path has a NUL or is too long; name a file",
    };
    const found: { [path: string]: string } = {};
    for (const path of Object.keys(rows)) found[path] = await place(path);
    expect(found).toEqual(rows);
    expect(await place("x", { root: at("gone") })).toBe(`missing: the folder ${at("gone")} is not there`);
    expect(await place("n".repeat(256))).toBe(`unavailable: ${"n".repeat(256)}: ENAMETOOLONG`);
  });

  test("has at most 4096 characters and forty links", async () => {
    await put("file");
    expect(await place(`${"./".repeat(2_046)}file`)).toBe("file|file||file");
    expect(await place(`${"./".repeat(2_046)}/file`)).toBe(
      "invalid: the path has a NUL or is too long; name a file",
    );
    await symlink("file", at("l1"));
    for (let n = 2; n <= 41; n += 1) await symlink(`l${n - 1}`, at(`l${n}`));
    expect(await place("l40")).toBe("file|file||file");
    expect(await place("l41")).toBe("invalid: l41: its links go in a circle");
  });

  test("may begin with any name of the root: the real one, one inside a sandbox, one under the user's home", async () => {
    await put("a/file");
    const linked = join(around, "linked");
    await symlink(root, linked);
    await symlink("/workspace/a/file", at("by-sandbox"));
    const spec = { root: linked, alsoKnownAs: ["/workspace", "~/ws"] };
    for (const path of [
      join(linked, "a/file"),
      at("a/file"),
      "/workspace/a/file",
      "~/ws/a/file",
      "by-sandbox",
    ])
      expect([path, await place(path, spec)]).toEqual([path, "a/file|file|a|file"]);
    expect(await place("~/other/a", spec)).toBe("denied: ~/other/a is outside the workspace");
    expect(await place("~/other/a")).toBe("missing: there is no ~");
    expect(await place("/workspacex/a", spec)).toBe("denied: /workspacex/a is outside the workspace");
    expect(partsBelow({ root: "/" }, "/a/b")).toEqual(["a", "b"]);
    expect(partsBelow({ root: "/r", alsoKnownAs: ["/r/in"] }, "/r/in/x")).toEqual(["in", "x"]);
    expect(partsBelow({ root: "/r" }, "a/../b")).toEqual(["a", "..", "b"]);
  });

  test("enters none of the forbidden folders, be it the root itself, by a link, or on the way to elsewhere", async () => {
    for (const path of ["one/x", "two/deep/x", "free/x"]) await put(path);
    await symlink("two", at("alias"));
    const forbidden = [at("none"), at("one"), at("free/x/y"), at("two")];
    const denied = (path: string): string =>
      `denied: ${path} is in Parley's own folder, which tools may not enter`;
    for (const path of ["one/x", "one", "two/deep/x", "alias/deep", "two/../free/x"])
      expect(await place(path, { forbidden }), path).toBe(denied(path));
    expect(await place("free/x", { forbidden })).toBe("free/x|x|free|file");
    expect(await place("x", { forbidden: [root] })).toBe(denied("x"));
    expect(await place("one/new/x", { forbidden }, true)).toBe(denied("one/new/x"));
    expect(await readdir(at("one"))).toEqual(["x"]);
  });

  test("reaches what lies below the folders that are lent, and not these themselves", async () => {
    for (const path of ["skills/a", "more/skills/b", "skillsx/c", "d"]) await put(path);
    await symlink("../d", at("skills/out"));
    await symlink("skills/a", at("in"));
    const only = ["skills", "more/skills"];
    expect(await place("skills/a", { only })).toBe("skills/a|a|skills|file");
    expect(await place("more/skills/b", { only })).toBe("more/skills/b|b|more/skills|file");
    expect(await place("in", { only })).toBe("skills/a|a|skills|file");
    for (const path of ["skills", "skillsx/c", "d", "skills/out", ".", "more"])
      expect(await place(path, { only })).toBe(`denied: ${path} is outside the workspace`);
  });

  test("is made with its folders where rules let each part of it be, by its name before where it leads", async () => {
    await mkdir(at("real"));
    await symlink("real", at("alias"));
    const asked: string[] = [];
    const rules = (no: string): ChangeRules => ({
      refusal: async (path) => (asked.push(path), path === no ? `not ${no}` : null),
      written: async (_, bytes) => bytes,
    });
    expect(await place("alias/a/b", { rules: rules("none") }, true)).toBe("real/a/b|b|real/a|nothing");
    expect(asked).toEqual(["alias", "real", "real/a", "real/a/b"]);
    expect(await readdir(at("real/a"))).toEqual([]);
    expect(await place("alias/c/d", { rules: rules("alias") }, true)).toBe("denied: not alias");
    expect(await place("alias/c/d", { rules: rules("real/c/d") }, true)).toBe("denied: not real/c/d");
    expect(await place("alias/c/d", { rules: rules("alias") })).toBe("real/c/d|d|real/c|nothing");
    expect(await place("sub/.GIT/x", {}, true)).toBe(
      "denied: sub/.GIT is in a .git folder, where git keeps what it runs by itself; change it with git",
    );
  });
});

describe("a file", () => {
  const most = 8 * 1024 * 1024;

  test("is read and written whole up to eight mebibytes", async () => {
    const files = rooted({ root });
    await put("a");
    await truncate(at("a"), most);
    expect((await files.readWhole("./a"))?.bytes.length).toBe(most);
    await truncate(at("a"), most + 1);
    expect(await files.readWhole("a").catch(refusal)).toBe(
      `invalid: a has ${most + 1} bytes; more than ${most} cannot be edited`,
    );
    expect(await files.replace("b", Buffer.alloc(most))).toEqual({ path: "b", created: true });
    expect(await files.replace("b", Buffer.alloc(most + 1)).catch(refusal)).toBe(
      `invalid: ${most + 1} bytes are too many; ${most} may be written`,
    );
    expect([(await stat(at("b"))).size, (await readdir(root)).toSorted()]).toEqual([most, ["a", "b"]]);
    expect([await files.readWhole("none"), await files.readWhole("none/deep")]).toEqual([null, null]);
    expect(await files.readWhole(".").catch(refusal)).toBe("invalid: . is a folder, not a file");
    expect(await files.replace(".", Buffer.alloc(0)).catch(refusal)).toBe(
      "invalid: the workspace is a folder, not a file",
    );
    expect(await files.withFile("none", async () => "").catch(refusal)).toBe(
      "missing: there is no file none",
    );
  });

  test("that is replaced keeps its rights but those to act as its owner, and a link stays one", async () => {
    const files = rooted({ root });
    await put("run");
    await chmod(at("run"), 0o6754);
    await symlink("run", at("alias"));
    expect(await files.replace("alias", Buffer.from("new"))).toEqual({ path: "run", created: false });
    expect([await text("run"), (await stat(at("run"))).mode & 0o7777]).toEqual(["new", 0o754]);
    expect((await readdir(root)).toSorted()).toEqual(["alias", "run"]);
  });

  test("with another name is not read where that may lie outside, but below node_modules", async () => {
    await put("a");
    await put("p/node_modules/b");
    await link(at("a"), join(around, "other"));
    await link(at("a"), join(around, "third"));
    await link(at("p/node_modules/b"), join(around, "store"));
    const strict = rooted({ root, ownNamesOnly: true });
    expect(await strict.readWhole("a").catch(refusal)).toBe(
      "denied: a has 3 names (hard links), and the others may lie outside the workspace; make a copy of it and use that",
    );
    expect((await strict.readWhole("p/node_modules/b"))?.bytes.toString()).toBe("p/node_modules/b");
    expect((await rooted({ root }).readWhole("a"))?.bytes.toString()).toBe("a");
  });

  test("is removed once its rules know, and only a file", async () => {
    await put("a");
    await put("no");
    await mkdir(at("folder"));
    const told: string[] = [];
    const files = rooted({
      root,
      rules: {
        refusal: async (path) => (path === "no" ? "not this" : null),
        written: async (path, bytes) => Buffer.from(`${path}:${String(bytes)}`),
        removed: async (path) => void told.push(`${path} ${(await readdir(root)).includes(path)}`),
      },
    });
    await files.remove("./a");
    expect(await files.remove("a").catch(refusal)).toBe("missing: there is no a");
    expect(await files.remove("folder").catch(refusal)).toBe("invalid: folder is not a regular file");
    expect(await files.remove("no").catch(refusal)).toBe("denied: not this");
    expect([told, (await readdir(root)).toSorted()]).toEqual([["a true"], ["folder", "no"]]);
    await files.replace("b", Buffer.from("new"));
    expect(await text("b")).toBe("b:new");
  });

  test("for appending is made anew, for its owner alone, and not through a link", async () => {
    await put("logs/a", "old");
    await symlink(join(around, "outside"), at("logs/out"));
    await put("target", "kept");
    await link(at("target"), at("logs/hard"));
    const files = rooted({ root });
    for (const path of ["logs/a", "logs/hard", "new/b"]) {
      const handle = await files.append(path);
      await handle.writeFile("one ");
      await handle.writeFile("two");
      await handle.close();
      expect([path, await text(path), (await stat(at(path))).mode & 0o777]).toEqual([path, "one two", 0o600]);
    }
    expect(await text("target")).toBe("kept");
    expect(await files.append("logs/out").catch(refusal)).toBe(
      "denied: logs/out leads out of the workspace by the link logs/out",
    );
  });

  test("is changed by one after the other, also after one that failed", async () => {
    const files = rooted({ root });
    const seen: string[] = [];
    const step = (name: string, fails = false) =>
      files.exclusive(async () => {
        seen.push(`${name} begins`);
        await readdir(root);
        seen.push(`${name} ends`);
        if (fails) throw new Error(name);
        return name;
      });
    const all = await Promise.allSettled([step("a"), step("b", true), step("c")]);
    expect(all.map((each) => (each.status === "fulfilled" ? each.value : String(each.reason)))).toEqual([
      "a",
      "Error: b",
      "c",
    ]);
    expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  });

  test("gives the bytes from where they are asked, and fewer where it ends", async () => {
    await put("a", "0123456789");
    const read = (from: number, length: number) =>
      rooted({ root }).withFile("a", async ({ handle }) =>
        (await readBytes(handle, from, length)).toString(),
      );
    expect([await read(0, 10), await read(3, 4), await read(8, 9), await read(10, 1)]).toEqual([
      "0123456789",
      "3456",
      "89",
      "",
    ]);
  });
});

describe("several files as one", () => {
  const change = (path: string, before: string | null, after: string | null): Change => ({
    path,
    before: before === null ? null : Buffer.from(before),
    after: after === null ? null : Buffer.from(after),
  });
  const state = async (): Promise<{ [path: string]: string }> => {
    const all = await readdir(root, { recursive: true, withFileTypes: true });
    const found = all.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
    const entries = found.map(async (path) => [path.slice(root.length + 1), await readFile(path, "utf8")]);
    return Object.fromEntries(await Promise.all(entries)) as { [path: string]: string };
  };

  test("are changed in whatever folder they lie, or none where the last one is not what it was", async () => {
    await put("a", "1");
    await put("gone", "x");
    const fits = [change("a", "1", "2"), change("new/b", null, "b"), change("gone", "x", null)];
    for (const [last, path] of [
      [change("c", "old", "new"), "c"],
      [change("./a", "0", "new"), "./a"],
      [change("a", null, "new"), "a"],
      [change("a", "11", null), "a"],
    ] as const) {
      expect(await applyChanges(rooted({ root }), [...fits, last]).catch(refusal)).toBe(
        `conflict: ${path} was changed by somebody else meanwhile; nothing was changed. Read it again`,
      );
      expect(await state()).toEqual({ a: "1", gone: "x" });
    }
    await applyChanges(rooted({ root }), fits);
    expect(await state()).toEqual({ a: "2", "new/b": "b" });
    await applyChanges(rooted({ root }), [change("empty", null, "")]);
    expect(await state()).toEqual({ a: "2", "new/b": "b", empty: "" });
  });

  test("go back to what they were where one of them cannot be changed: new ones go, removed ones return", async () => {
    await put("a", "1");
    await put("b", "old");
    await put("last", "x");
    const files = rooted({ root });
    const failing = {
      ...files,
      remove: (path: string) => files.remove(path === "last" ? "nothing" : path),
    };
    const changes = [
      change("a", "1", "2"),
      change("new", null, "n"),
      change("b", "old", null),
      change("last", "x", null),
      change("late", null, "l"),
    ];
    expect(await applyChanges(failing, changes).catch(refusal)).toBe("missing: there is no nothing");
    expect(await state()).toEqual({ a: "1", b: "old", last: "x" });
    // The second draft does not get onto the disk: nothing of the first one stays.
    await mkdir(at("folder"));
    const rules: ChangeRules = { refusal: async () => null, written: async (_, bytes) => bytes };
    const refusing = rooted({
      root,
      rules: { ...rules, refusal: async (path) => (path === "no" ? "not this" : null) },
    });
    expect(
      await applyChanges(refusing, [change("a", "1", "2"), change("no", null, "n")]).catch(refusal),
    ).toBe("denied: not this");
    expect(await state()).toEqual({ a: "1", b: "old", last: "x" });
  });

  test("that a dead process had committed are finished, what it had not is dropped, and what others wrote stays and is told", async () => {
    const draft = (n: number): string => `.parley-draft-7-${n}`;
    const hash = (of: string): string => contentHash(Buffer.from(of));
    const commit = (name: string, steps: readonly object[]) =>
      put(`.parley/changes/${name}`, JSON.stringify({ steps }));
    await put("changed", "old");
    await put("deep/new-name", "moved already");
    await put("theirs", "somebody's");
    await put("made-by-them", "somebody's");
    await put("removed", "x");
    await put("kept", "somebody's");
    await put("planned", "old");
    for (const [n, folder] of [
      [1, ""],
      [2, "deep/"],
      [4, ""],
      [5, ""],
      [6, ""],
      [7, "deep/"],
    ] as const)
      await put(`${folder}${draft(n)}`, `draft ${n}`);
    await commit("7-1.commit", [
      { path: "changed", draft: draft(1), expects: hash("old") },
      { path: "deep/made", draft: draft(2), expects: null },
      { path: "deep/new-name", draft: draft(3), expects: null },
      { path: "theirs", draft: draft(4), expects: hash("old") },
      { path: "made-by-them", draft: draft(5), expects: null },
      { path: "removed", draft: null, expects: hash("x") },
      { path: "removed-already", draft: null, expects: hash("x") },
      { path: "kept", draft: null, expects: hash("x") },
    ]);
    await commit("7-2.plan", [
      { path: "planned", draft: draft(6), expects: hash("old") },
      { path: "deep/planned", draft: draft(7), expects: null },
      { path: "planned", draft: null, expects: hash("old") },
    ]);
    // No draft of ours: the name is not looked at.
    await put("victim", "v");
    await commit("7-3.commit", [{ path: "changed", draft: "victim", expects: null }]);
    expect(await finishChanges(rooted({ root }))).toEqual(["theirs", "made-by-them", "kept"]);
    expect(await state()).toEqual({
      changed: "draft 1",
      "deep/made": "draft 2",
      "deep/new-name": "moved already",
      theirs: "somebody's",
      "made-by-them": "somebody's",
      kept: "somebody's",
      planned: "old",
      victim: "v",
    });
    expect(await finishChanges(rooted({ root }))).toEqual([]);
  });

  test("need no folder of plans, and a file in its place is none", async () => {
    expect(await finishChanges(rooted({ root }))).toEqual([]);
    await put(".parley/changes", "x");
    expect(await finishChanges(rooted({ root }))).toEqual([]);
    expect(await text(".parley/changes")).toBe("x");
  });
});

describe("what a command left closed or lent", () => {
  const mode = async (path: string): Promise<number> => (await stat(at(path))).mode & 0o7777;

  test("folders are opened for their owner down to the path, with what else they let", async () => {
    await put("a/b/c/file");
    await mkdir(at("a/b/beside"), { mode: 0 });
    await chmod(at("a/b/c"), 0o1000);
    await chmod(at("a/b"), 0o555);
    await chmod(at("a"), 0o2311);
    await symlink("a", at("alias"));
    expect(await openUp(root, "a/b/c")).toBe(true);
    expect([await mode("a"), await mode("a/b"), await mode("a/b/c"), await mode("a/b/beside")]).toEqual([
      0o2711, 0o755, 0o1700, 0,
    ]);
    await chmod(at("a/b"), 0o500);
    expect(await openUp(root, "a/b/c/file")).toBe(true);
    expect([await mode("a/b"), await openUp(root, "a/b/none/x"), await openUp(root, "none")]).toEqual([
      0o700,
      false,
      false,
    ]);
    await chmod(at("a"), 0o500);
    expect([await openUp(root, "alias/b"), await mode("a")]).toEqual([true, 0o500]);
  });

  test("a file loses the rights of its owner and its group for others, and nothing else", async () => {
    await put("sub/both");
    await put("user");
    await put("group");
    await chmod(at("sub/both"), 0o7751);
    await chmod(at("user"), 0o4700);
    await chmod(at("group"), 0o2755);
    await mkdir(at("folder"));
    await chmod(at("folder"), 0o2775);
    await symlink("user", at("alias"));
    for (const path of ["sub/both", "group", "folder", "none", "none/deep"])
      await dropOtherRights(root, path);
    expect([await mode("sub/both"), await mode("user"), await mode("group"), await mode("folder")]).toEqual([
      0o1751, 0o4700, 0o755, 0o2775,
    ]);
    await dropOtherRights(root, "alias");
    expect(await mode("user")).toBe(0o700);
  });

  test("files that enter prompts are those of the folders of prompts, and of what is more, once each", async () => {
    for (const path of ["memory/a.md", "memory/deep/B.MD", "memory/c.txt", "skills/x/SKILL.md", "more/d.md"])
      await put(path);
    await put(".agents/skills/y/SKILL.md");
    await put("other/e.md");
    await symlink("../other", at("memory/linked"));
    const found = await promptFiles(root, ["more", "memory", "none"]);
    expect(found.slice(0, 9)).toEqual(
      "AGENTS SOUL TOOLS IDENTITY USER HEARTBEAT BOOT BOOTSTRAP MEMORY"
        .split(" ")
        .map((name) => `${name}.md`),
    );
    expect(found.slice(9)).toEqual([
      "memory/a.md",
      "memory/deep/B.MD",
      "skills/x/SKILL.md",
      ".agents/skills/y/SKILL.md",
      "more/d.md",
    ]);
    expect((await filesBelow(root, "memory")).toSorted()).toEqual([
      "memory/a.md",
      "memory/c.txt",
      "memory/deep/B.MD",
      "memory/linked",
    ]);
    expect(await filesBelow(root, "other/e.md")).toEqual([]);
  });
});

test("a draft of an older process of the same number is no hindrance, and a link of its name is not followed", async () => {
  const files = rooted({ root });
  await put("a", "1");
  const next = Number(/-(\d+)$/.exec(draftName())?.[1] ?? 0) + 1;
  await writeFile(join(around, "victim"), "safe");
  await symlink(join(around, "victim"), at(`.parley-draft-${process.pid}-${next}`));
  await files.replace("a", Buffer.from("2"));
  expect([await text("a"), await readFile(join(around, "victim"), "utf8"), await readdir(root)]).toEqual([
    "2",
    "safe",
    ["a"],
  ]);
});
