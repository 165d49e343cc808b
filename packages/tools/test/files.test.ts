// The file tools against what a workspace may hold and what a hostile model may ask for.
import { execFileSync } from "node:child_process";
import {
  chmod,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { workspaceFiles } from "../src/index.ts";
import { applyPatch } from "../src/tools/apply-patch.ts";
import { edit } from "../src/tools/edit.ts";
import { read } from "../src/tools/read.ts";
import { write } from "../src/tools/write.ts";
import { call, refusedWith, said, stage, type Stage } from "./stage.ts";

let it: Stage;
beforeEach(async () => {
  it = await stage();
});
afterEach(() => it.close());
const at = (name: string): string => join(it.workspace, name);
const patch = (...lines: string[]): string => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");

describe("read", () => {
  test("shows text with line numbers", async () => {
    await writeFile(at("a.txt"), "one\ntwo\r\nthree");
    expect(await said(read(it.context), { path: "a.txt" })).toBe("1\tone\n2\ttwo\n3\tthree");
  });

  test("pages by offset and limit, and tells how to go on", async () => {
    await writeFile(at("a.txt"), Array.from({ length: 50 }, (_, at) => `line ${at + 1}`).join("\n"));
    expect(await said(read(it.context), { path: "a.txt", offset: 10, limit: 2 })).toBe(
      "10\tline 10\n11\tline 11\n[lines 10-11 of 50; go on with offset=12]",
    );
    expect(await said(read(it.context), { path: "a.txt", offset: 49 })).toBe(
      "49\tline 49\n50\tline 50\n[end of file, 50 lines]",
    );
    expect(await refusedWith(read(it.context), { path: "a.txt", offset: 51 })).toContain("has 50 lines");
  });

  test("keeps a page below what the loop would cut, and no page leaves a line out", async () => {
    const lines = Array.from({ length: 3_000 }, (_, at) => `${at + 1} ${"äé".repeat(at % 40)}`);
    await writeFile(at("a.txt"), lines.join("\n"));
    const got: string[] = [];
    for (let offset = 1; offset <= lines.length;) {
      const page = await said(read(it.context), { path: "a.txt", offset });
      expect(Buffer.byteLength(page)).toBeLessThanOrEqual(8_192);
      const shown = page.split("\n").filter((line) => !line.startsWith("["));
      got.push(...shown.map((line) => line.slice(line.indexOf("\t") + 1)));
      offset += shown.length;
    }
    expect(got).toEqual(lines);
  });

  test("fits its pages into what the loop allows", async () => {
    await writeFile(
      at("a.txt"),
      Array.from({ length: 100 }, (_, at) => `${at} ${"ä".repeat(300)}`).join("\n"),
    );
    for (const resultBytes of [500, 2_000, 20_000]) {
      const page = await said(read({ ...it.context, resultBytes }), { path: "a.txt" });
      expect(Buffer.byteLength(page)).toBeLessThanOrEqual(resultBytes);
      expect(Buffer.byteLength(page)).toBeGreaterThan(resultBytes / 4);
    }
  });

  test("cuts an endless line and holds no huge file in memory", async () => {
    await writeFile(at("line.txt"), "x".repeat(3_000_000));
    expect((await said(read(it.context), { path: "line.txt" })).length).toBeLessThan(2_200);
    await writeFile(at("huge.txt"), "short\nlines\n".repeat(2_000));
    await truncate(at("huge.txt"), 5 * 1024 ** 3);
    const before = process.memoryUsage().rss;
    expect(await said(read(it.context), { path: "huge.txt", limit: 1 })).toContain(
      "of many more; go on with offset=2",
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 ** 2);
  });

  test("says what an empty file, a binary file and a folder are", async () => {
    await writeFile(at("empty"), "");
    await writeFile(at("binary"), Buffer.from([1, 2, 0, 3]));
    expect(await said(read(it.context), { path: "empty" })).toBe("empty is empty.");
    expect(await refusedWith(read(it.context), { path: "binary" })).toContain("binary file of 4 bytes");
    expect(await refusedWith(read(it.context), { path: "." })).toContain("is a folder");
    expect(await refusedWith(read(it.context), { path: "nothing" })).toContain("there is no file nothing");
  });

  test("shows a picture to a model that sees, and describes it to others", async () => {
    const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(20)]);
    await writeFile(at("a.png"), png);
    expect(await said(read(it.context), { path: "a.png" })).toBe("a.png (1 x 1)\n<image/png 28.png>");
    expect(await said(read({ ...it.context, vision: false }), { path: "a.png" })).toContain("cannot see");
    await truncate(at("a.png"), 21_000_000);
    expect(await refusedWith(read(it.context), { path: "a.png" })).toContain("at most");
  });

  test("reads the folders of skills, but writes only to the workspace", async () => {
    const skills = join(it.outside, "skills");
    await mkdir(skills);
    await writeFile(join(skills, "SKILL.md"), "do it");
    const files = workspaceFiles({ root: it.workspace, readRoots: [skills] });
    expect(await said(read({ ...it.context, files }), { path: join(skills, "SKILL.md") })).toBe("1\tdo it");
    expect(await refusedWith(read({ ...it.context, files }), { path: `${skills}/../ws/x` })).toContain(
      "outside",
    );
    expect(
      await refusedWith(write({ ...it.context, files }), { path: join(skills, "new"), content: "" }),
    ).toContain("outside");
    expect(await refusedWith(read(it.context), { path: join(skills, "SKILL.md") })).toContain("outside");
  });

  test("does not hang on a FIFO", async () => {
    execFileSync("mkfifo", [at("pipe")]);
    expect(await refusedWith(read(it.context), { path: "pipe" })).toContain("not a regular file");
    expect(await refusedWith(write(it.context), { path: "pipe", content: "x" })).toContain(
      "not a regular file",
    );
  });
});

describe("paths", () => {
  const outsidePaths = [
    "../secret",
    "sub/../../secret",
    "/etc/passwd",
    "~/.ssh/id_rsa/../../../../secret",
    "./.././secret",
    "link-out/secret",
    "link-etc",
    "link-dangling",
    "sub/link-up/secret",
    "link-chain/secret",
    "link-loop/x",
  ];

  test.each(outsidePaths)("%s leads nowhere, by any tool", async (path) => {
    await writeFile(join(it.outside, "secret"), "the secret");
    await mkdir(at("sub"));
    await symlink(it.outside, at("link-out"));
    await symlink("/etc/hostname", at("link-etc"));
    await symlink(join(it.outside, "made"), at("link-dangling"));
    await symlink("../..", at("sub/link-up"));
    await symlink("link-out", at("link-chain"));
    await symlink("link-loop", at("link-loop"));
    const before = await readdir(it.outside);
    const reasons = [
      await refusedWith(read(it.context), { path }),
      await refusedWith(write(it.context), { path, content: "mine" }).catch((error: unknown) =>
        String(error),
      ),
      await refusedWith(edit(it.context), { path, oldText: "the", newText: "my" }),
      await refusedWith(applyPatch(it.context), {
        input: patch(`*** Update File: ${path}`, "@@", "-the secret", "+mine"),
      }),
    ];
    expect(reasons.join("\n")).not.toContain("the secret\n");
    expect(await readdir(it.outside)).toEqual(before);
    expect(await readFile(join(it.outside, "secret"), "utf8")).toBe("the secret");
  });

  test("a sibling folder whose name begins alike is outside", async () => {
    await mkdir(`${it.workspace}-evil`);
    await writeFile(`${it.workspace}-evil/x`, "x");
    expect(await refusedWith(read(it.context), { path: `${it.workspace}-evil/x` })).toContain("outside");
    expect(await refusedWith(read(it.context), { path: "../ws-evil/x" })).toContain("outside");
  });

  test("with a NUL, empty or endless are refused", async () => {
    expect(await refusedWith(read(it.context), { path: "a\0b" })).toContain("NUL");
    expect(await refusedWith(read(it.context), { path: "" })).toContain("empty");
    expect(await refusedWith(read(it.context), { path: "a/".repeat(3_000) })).toContain("too long");
    expect(await refusedWith(write(it.context), { path: "b".repeat(300), content: "" })).toContain(
      "ENAMETOOLONG",
    );
  });

  test("links that stay inside are followed", async () => {
    await mkdir(at("real"));
    await symlink("real", at("link"));
    await symlink(at("real/a.txt"), at("absolute"));
    await symlink(at("real/a.txt"), at("real/again"));
    await said(write(it.context), { path: "link/a.txt", content: "hi" });
    expect(await said(read(it.context), { path: "absolute" })).toBe("1\thi");
    expect(await said(read(it.context), { path: "real/again" })).toBe("1\thi");
    expect(await said(write(it.context), { path: "absolute", content: "ho" })).toBe(
      "Replaced real/a.txt (2 bytes).",
    );
    expect(await readFile(at("real/a.txt"), "utf8")).toBe("ho");
  });

  test("as the sandbox spells them are understood", async () => {
    const files = workspaceFiles({ root: it.workspace, inside: "/workspace" });
    await writeFile(at("a.txt"), "hi");
    expect(await said(read({ ...it.context, files }), { path: "/workspace/a.txt" })).toBe("1\thi");
    expect(await refusedWith(read({ ...it.context, files }), { path: "/workspace/../a.txt" })).toContain(
      "outside",
    );
  });

  test("into Parley's own folder are refused where the workspace lies around it", async () => {
    await mkdir(at("state/inner"), { recursive: true });
    await writeFile(at("state/parley.json5"), "{}");
    await symlink("state", at("innocent"));
    const files = workspaceFiles({ root: it.workspace, forbidden: [at("state")] });
    for (const path of [
      "state/parley.json5",
      "innocent/parley.json5",
      "state/inner/../parley.json5",
      "state/new",
    ]) {
      expect(await refusedWith(read({ ...it.context, files }), { path })).toContain("Parley's own folder");
      expect(await refusedWith(write({ ...it.context, files }), { path, content: "{}" })).toContain(
        "Parley's own folder",
      );
    }
    const inside = workspaceFiles({ root: at("state/inner"), forbidden: [at("state")] });
    expect(await said(write({ ...it.context, files: inside }), { path: "fine", content: "" })).toContain(
      "Created",
    );
  });

  test("into a .git folder may be read and not written: git runs what stands there", async () => {
    await mkdir(at("repo/.git/hooks"), { recursive: true });
    await writeFile(at("repo/.git/config"), "[core]");
    await symlink("repo/.git", at("innocent"));
    for (const path of [
      "repo/.git/config",
      "repo/.git/hooks/pre-commit",
      "innocent/config",
      ".git",
      "new/.GIT/config",
    ])
      expect(await refusedWith(write(it.context), { path, content: "x" }), path).toContain(
        "change it with git",
      );
    expect(
      await refusedWith(edit(it.context), { path: "innocent/config", oldText: "[core]", newText: "x" }),
    ).toContain("with git");
    // A link of that name is one as well: git follows it.
    await mkdir(at("plain/hooks"), { recursive: true });
    await mkdir(at("linked"));
    await symlink("../plain", at("linked/.git"));
    expect(
      await refusedWith(write(it.context), { path: "linked/.git/hooks/pre-commit", content: "x" }),
    ).toContain("with git");
    expect(await said(read(it.context), { path: "repo/.git/config" })).toBe("1\t[core]");
    expect(await said(write(it.context), { path: ".gitignore", content: "x" })).toContain("Created");
  });

  test("that turn into links while they are opened never lead outside", async () => {
    await mkdir(join(it.outside, "target"));
    await writeFile(join(it.outside, "target/file"), "secret");
    await mkdir(at("real"));
    await writeFile(at("real/file"), "mine");
    // Swaps the folder and the link as fast as it can, in a process of its own.
    const swapper = (await import("node:child_process")).spawn(
      "node",
      ["-e", swapping, it.workspace, join(it.outside, "target")],
      {
        stdio: "ignore",
      },
    );
    try {
      let mine = 0;
      for (let turn = 0; turn < 400 || (mine === 0 && turn < 5_000); turn += 1) {
        const text = await call(read(it.context), { path: "dir/file" }).then(
          ({ content }) => JSON.stringify(content),
          (error: unknown) => String(error),
        );
        expect(text).not.toContain("secret");
        if (text.includes("mine")) mine += 1;
        await call(write(it.context), { path: "dir/written", content: "x" }).catch(() => undefined);
      }
      expect(mine).toBeGreaterThan(0);
      expect(await readdir(join(it.outside, "target"))).toEqual(["file"]);
    } finally {
      swapper.kill("SIGKILL");
    }
  });
});

const swapping = `
const fs = require("node:fs"), [, ws, target] = process.argv;
process.chdir(ws);
const tried = (run) => { try { run(); } catch {} };
// A killed test run leaves no swapper behind.
for (const parent = process.ppid; process.ppid === parent; ) {
  // A write may have made the folder anew meanwhile.
  tried(() => fs.rmSync("dir", { recursive: true, force: true }));
  tried(() => fs.renameSync("real", "dir"));
  for (let i = 0; i < 30; i++) tried(() => fs.lstatSync("dir"));
  tried(() => fs.renameSync("dir", "real"));
  tried(() => fs.rmSync("dir", { recursive: true, force: true }));
  tried(() => fs.symlinkSync(target, "dir"));
  for (let i = 0; i < 30; i++) tried(() => fs.lstatSync("dir"));
  tried(() => fs.unlinkSync("dir"));
}`;

describe("write", () => {
  test("creates folders, replaces whole, keeps the mode", async () => {
    expect(await said(write(it.context), { path: "a/b/c.txt", content: "hi" })).toBe(
      "Created a/b/c.txt (2 bytes).",
    );
    await chmod(at("a/b/c.txt"), 0o755);
    expect(await said(write(it.context), { path: "a/b/c.txt", content: "" })).toBe(
      "Replaced a/b/c.txt (0 bytes).",
    );
    expect((await stat(at("a/b/c.txt"))).mode & 0o777).toBe(0o755);
    expect(await readdir(at("a/b"))).toEqual(["c.txt"]);
  });

  test("does not reach through a hard link", async () => {
    await writeFile(join(it.outside, "other"), "theirs");
    await link(join(it.outside, "other"), at("hard"));
    await said(write(it.context), { path: "hard", content: "mine" });
    expect(await readFile(join(it.outside, "other"), "utf8")).toBe("theirs");
  });

  test("refuses folders, files in the way and too much", async () => {
    await mkdir(at("folder"));
    await writeFile(at("file"), "");
    expect(await refusedWith(write(it.context), { path: "folder", content: "" })).toContain("is a folder");
    expect(await refusedWith(write(it.context), { path: "file/x", content: "" })).toContain(
      "is not a folder",
    );
    expect(await refusedWith(write(it.context), { path: "new/", content: "" })).toContain("is not a folder");
    expect(await refusedWith(write(it.context), { path: ".", content: "" })).toContain("is a folder");
    expect(
      await refusedWith(write(it.context), { path: "big", content: "x".repeat(9 * 1024 * 1024) }),
    ).toContain("too many");
  });

  test("is not there where the sandbox mounts the workspace read-only", () => {
    const files = workspaceFiles({ root: it.workspace, readOnly: true });
    for (const factory of [write, edit, applyPatch])
      expect(factory({ ...it.context, files })).toEqual({
        unavailable: expect.stringContaining("read-only"),
      });
  });
});

describe("edit", () => {
  test("replaces a passage that stands once", async () => {
    await writeFile(at("a.txt"), "one two three");
    expect(await said(edit(it.context), { path: "a.txt", oldText: "two", newText: "2" })).toBe(
      "Edited a.txt (1 passage).",
    );
    expect(await readFile(at("a.txt"), "utf8")).toBe("one 2 three");
  });

  test("keeps byte order mark, line endings and everything it does not touch", async () => {
    await writeFile(at("a.txt"), "\ufeffone\r\ntwo\r\nthree\nfour\r\n");
    await said(edit(it.context), { path: "a.txt", oldText: "one\ntwo", newText: "1\n2\n2.5" });
    expect(await readFile(at("a.txt"), "utf8")).toBe("\ufeff1\r\n2\r\n2.5\r\nthree\nfour\r\n");
    await said(edit(it.context), { path: "a.txt", oldText: "three\r\nfour\r\n", newText: "3\r\n" });
    expect(await readFile(at("a.txt"), "utf8")).toBe("\ufeff1\r\n2\r\n2.5\r\n3\r\n");
  });

  test("makes all of several edits or none", async () => {
    await writeFile(at("a.txt"), "a b c");
    const edits = [
      { oldText: "c", newText: "a" },
      { oldText: "a", newText: "b" },
    ];
    await said(edit(it.context), { path: "a.txt", edits });
    expect(await readFile(at("a.txt"), "utf8")).toBe("b b a");
    expect(
      await refusedWith(edit(it.context), {
        path: "a.txt",
        edits: [
          { oldText: "a", newText: "x" },
          { oldText: "z", newText: "y" },
        ],
      }),
    ).toContain("edit 2 is not in the file");
    expect(
      await refusedWith(edit(it.context), {
        path: "a.txt",
        edits: [
          { oldText: "b b", newText: "x" },
          { oldText: "b a", newText: "y" },
        ],
      }),
    ).toContain("overlap");
    expect(await readFile(at("a.txt"), "utf8")).toBe("b b a");
  });

  test("refuses what is not exact, not the only one, or no text, and says how to go on", async () => {
    await writeFile(at("a.txt"), "  same\nsame\n");
    expect(await refusedWith(edit(it.context), { path: "a.txt", oldText: "same", newText: "x" })).toContain(
      "lines 1 and 2",
    );
    expect(
      await refusedWith(edit(it.context), { path: "a.txt", oldText: "\tsame\nx", newText: "x" }),
    ).toContain("line 1 begins alike");
    expect(await refusedWith(edit(it.context), { path: "a.txt", oldText: "", newText: "x" })).toContain(
      "use write",
    );
    expect(
      await refusedWith(edit(it.context), { path: "a.txt", oldText: "same\n", newText: "same\n" }),
    ).toContain("are the same");
    expect(await refusedWith(edit(it.context), { path: "b.txt", oldText: "x", newText: "y" })).toContain(
      "there is no file b.txt",
    );
    expect(await refusedWith(edit(it.context), { path: "a.txt" })).toContain("oldText and newText, or edits");
    await writeFile(at("latin"), Buffer.from([0xe4, 0x61]));
    expect(await refusedWith(edit(it.context), { path: "latin", oldText: "a", newText: "b" })).toContain(
      "not UTF-8",
    );
    // "aa" in "aaa" stands twice, overlapping itself.
    await writeFile(at("aaa"), "aaa");
    expect(await refusedWith(edit(it.context), { path: "aaa", oldText: "aa", newText: "b" })).toContain(
      "more than once",
    );
  });

  test("by many at once loses none", async () => {
    await writeFile(at("a.txt"), Array.from({ length: 20 }, (_, n) => `<${n}>`).join(""));
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        said(edit(it.context), { path: "a.txt", oldText: `<${n}>`, newText: `(${n})` }),
      ),
    );
    expect(await readFile(at("a.txt"), "utf8")).toBe(Array.from({ length: 20 }, (_, n) => `(${n})`).join(""));
  });
});

test("who has a file open keeps what it was", async () => {
  await writeFile(at("a.txt"), "old");
  const handle = await open(at("a.txt"));
  await said(write(it.context), { path: "a.txt", content: "new" });
  expect(await handle.readFile("utf8")).toBe("old");
  await handle.close();
});

describe("told whole", () => {
  const text = (words: string) => [{ type: "text", text: words }];

  test("a page by lines, and what stands below it", async () => {
    await writeFile(at("a.txt"), "one\r\n\nthree\r\n");
    await writeFile(at("open.txt"), "one\ntwo");
    const pages = [
      { path: "a.txt" },
      { path: "a.txt", limit: 3 },
      { path: "a.txt", limit: 2 },
      { path: "a.txt", offset: 2, limit: 1 },
      { path: "a.txt", offset: 3 },
      { path: "a.txt", offset: 4 },
      { path: "open.txt", offset: 2 },
    ];
    const shown = [];
    for (const page of pages) shown.push(await call(read(it.context), page));
    expect(shown).toEqual([
      { content: text("1\tone\n2\t\n3\tthree") },
      { content: text("1\tone\n2\t\n3\tthree") },
      { content: text("1\tone\n2\t\n[lines 1-2 of 3; go on with offset=3]") },
      { content: text("2\t\n[lines 2-2 of 3; go on with offset=3]") },
      { content: text("3\tthree\n[end of file, 3 lines]") },
      { content: text("a.txt has 3 lines; there is no line 4."), isError: true },
      { content: text("2\ttwo\n[end of file, 2 lines]") },
    ]);
  });

  test("a page and a line up to the byte that still fits", async () => {
    // Four lines of 1973 bytes with number, tab and end are the room of 8192 - 300.
    const line = "x".repeat(1_970);
    const lines = [1, 2, 3, 4].map((nth) => `${nth}\t${line}`);
    await writeFile(at("full.txt"), `${line}\n`.repeat(4));
    await writeFile(at("over.txt"), `${line}\n`.repeat(3) + `${line}y\n`);
    await writeFile(at("wide.txt"), `${"é".repeat(1_000)}\n${"é".repeat(1_000)}z\n`);
    await writeFile(at("one.txt"), `${"x".repeat(300)}\ntwo\n`);
    const own = read(it.context);
    const small = read({ ...it.context, resultBytes: 500 });
    expect([
      await said(own, { path: "full.txt" }),
      await said(own, { path: "over.txt" }),
      await said(own, { path: "wide.txt" }),
      await said(small, { path: "one.txt" }),
    ]).toEqual([
      lines.join("\n"),
      `${lines.slice(0, 3).join("\n")}\n[lines 1-3 of 4; go on with offset=4]`,
      `1\t${"é".repeat(1_000)}\n2\t${"é".repeat(1_000)} [... a line of 1001 characters]`,
      `1\t${"x".repeat(100)} [... a line of 300 characters]\n2\ttwo`,
    ]);
  });

  test("lines and letters that lie over the end of a piece that is read at once, and the last of many", async () => {
    const piece = 256 * 1_024;
    const line = "é".repeat(49);
    const many = `${"x".repeat(piece - 1)}é\n${"y".repeat(piece - 3)}\r\n${`${line}\n`.repeat(6_000)}end`;
    await writeFile(at("many.txt"), many);
    await writeFile(at("long.txt"), `${"z".repeat(piece)}${"z".repeat(piece)}tail\nnext`);
    const own = read(it.context);
    expect([
      await said(own, { path: "many.txt", offset: 1, limit: 3 }),
      await said(own, { path: "many.txt", offset: 6_001 }),
      await said(own, { path: "long.txt", offset: 2 }),
    ]).toEqual([
      [
        `1\t${"x".repeat(2_000)} [... a line of ${piece} characters]`,
        `2\t${"y".repeat(2_000)} [... a line of ${piece - 3} characters]`,
        `3\t${line}`,
        "[lines 1-3 of 6003; go on with offset=4]",
      ].join("\n"),
      `6001\t${line}\n6002\t${line}\n6003\tend\n[end of file, 6003 lines]`,
      "2\tnext\n[end of file, 2 lines]",
    ]);
  });

  test("what is no text, at both sides of what is shown of a picture", async () => {
    const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(20)]);
    await writeFile(at("a.png"), png);
    await writeFile(at("binary"), Buffer.from([1, 2, 0, 3]));
    const sees = read(it.context);
    const big = { width: 2_000, height: 1_000, original: { width: 4_000, height: 2_000, frames: 3 } };
    const kept = { path: "k.png", mediaType: "image/png", ...big } as const;
    const keeps = (answer: object) => ({ ...it.context, pictures: { keep: async () => answer } as never });
    const { pictures: _none, ...without } = it.context;
    expect([
      await call(sees, { path: "binary" }),
      await call(read({ ...it.context, vision: false }), { path: "a.png" }),
      await call(read(without), { path: "a.png" }),
      await call(read(keeps(kept)), { path: "a.png" }),
      await call(read(keeps({ refused: "it is broken" })), { path: "a.png" }),
    ]).toEqual([
      { content: text("binary is a binary file of 4 bytes; there is no text to show."), isError: true },
      { content: text("a.png is a picture (image/png, 28 bytes), which this model cannot see.") },
      { content: text("a.png is a picture (image/png, 28 bytes), which this model cannot see.") },
      {
        content: [
          ...text("a.png (4000 x 2000, shown at 2000 x 1000, the first of 3 pictures in it)"),
          { type: "image", path: "k.png", mediaType: "image/png" },
        ],
      },
      { content: text("a.png cannot be shown: it is broken."), isError: true },
    ]);
    await truncate(at("a.png"), 20_000_000);
    expect(await said(sees, { path: "a.png" })).toBe("a.png (1 x 1)\n<image/png 20000000.png>");
    await truncate(at("a.png"), 20_000_001);
    expect(await call(sees, { path: "a.png" })).toEqual({
      content: text("a.png is a picture of 20000001 bytes; at most 20000000 can be shown. Make it smaller."),
      isError: true,
    });
  });

  test("whose words a file holds: kept results that were fenced, and notes made after them", async () => {
    const asked: unknown[] = [];
    const notes = {
      refusal: async () => null,
      untrusted: async (_scope: unknown, note: string, words: string) => {
        asked.push([note, words]);
        return words.includes("tea") ? "a.test" : null;
      },
    } as unknown as NonNullable<typeof it.context.notes>;
    const own = read({ ...it.context, notes });
    await mkdir(at(".parley/results"), { recursive: true });
    await mkdir(at("memory"));
    const fence = "<<<BEGIN_PARLEY_RESULT x>>>\nwords\n";
    await writeFile(at(".parley/results/a.txt"), fence);
    await writeFile(at(".parley/results/b.txt"), "words\n");
    await writeFile(at("copy.txt"), fence);
    await writeFile(at("memory/a.md"), "tea\n12\tcups\n");
    await writeFile(at("memory/b.md"), "milk\n");
    const files = [
      ".parley/results/a.txt",
      ".parley/results/b.txt",
      "copy.txt",
      "memory/a.md",
      "memory/b.md",
    ];
    const sources = [];
    for (const path of files) sources.push((await call(own, { path }, it.workspace)).untrusted ?? null);
    expect(sources).toEqual([
      { source: "what a tool read and kept" },
      null,
      null,
      { source: "notes made after reading a.test" },
      null,
    ]);
    expect(asked).toEqual([
      ["memory/a.md", "tea\n12\tcups"],
      ["memory/b.md", "milk"],
    ]);
  });

  test("what was written and edited, in bytes and passages, and why not", async () => {
    await writeFile(at("latin"), Buffer.from([0x61, 0xe9, 0x62]));
    const one = { oldText: "ä", newText: "a" };
    const calls = [
      await call(write(it.context), { path: "sub/a.txt", content: "äö" }),
      await call(write(it.context), { path: "sub/../sub/a.txt", content: "äöü" }),
      await call(edit(it.context), { path: "sub/a.txt", edits: [one] }),
      await call(edit(it.context), {
        path: "sub/a.txt",
        edits: [
          { oldText: "ö", newText: "o" },
          { oldText: "ü", newText: "u" },
        ],
      }),
      await call(edit(it.context), { path: "sub/a.txt", ...one }),
      await call(edit(it.context), { path: "sub/a.txt", oldText: "o", newText: "" }),
      await call(edit(it.context), { path: "sub/a.txt", ...one, edits: [one] }),
      await call(edit(it.context), { path: "sub/a.txt", newText: "x" }),
    ];
    const unread = "oldText is not in the file. Read the file and copy the passage exactly";
    expect(calls).toEqual([
      { content: text("Created sub/a.txt (4 bytes).") },
      { content: text("Replaced sub/a.txt (6 bytes).") },
      { content: text("Edited sub/a.txt (1 passage).") },
      { content: text("Edited sub/a.txt (2 passages).") },
      { content: text(`Not changed, sub/a.txt: ${unread}.`), isError: true },
      { content: text("Edited sub/a.txt (1 passage).") },
      { content: text("✖ give oldText and newText, or edits"), isError: true },
      { content: text("✖ give oldText and newText, or edits"), isError: true },
    ]);
    expect(await readFile(at("sub/a.txt"), "utf8")).toBe("au");
    expect([
      await refusedWith(edit(it.context), { path: "none.txt", ...one }),
      await refusedWith(edit(it.context), { path: "latin", ...one }),
    ]).toEqual(["there is no file none.txt; use write to create it", "latin is not UTF-8 text"]);
  });
});
