// Patches over several files: what they may say, and that they change all of it or nothing, whenever the
// process dies.
import { spawn } from "node:child_process";
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { workspaceFiles } from "../src/index.ts";
import { applyPatch } from "../src/tools/apply-patch.ts";
import { call, refusedWith, said, stage, type Stage } from "./stage.ts";

let it: Stage;
beforeEach(async () => {
  it = await stage();
});
afterEach(() => it.close());
const at = (name: string): string => join(it.workspace, name);
const text = (name: string): Promise<string> => readFile(at(name), "utf8");
const patch = (...lines: string[]): { input: string } => ({
  input: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n"),
});

describe("a patch", () => {
  test("adds, changes, moves and deletes files at once", async () => {
    await writeFile(at("change.txt"), "one\ntwo\nthree\n");
    await writeFile(at("old.txt"), "keep\nthis\n");
    await writeFile(at("gone.txt"), "x");
    const lines = await said(
      applyPatch(it.context),
      patch(
        [
          ["*** Add File: new/file.txt", "+hello", "+", "+world"],
          ["*** Update File: change.txt", "@@", " one", "-two", "+2", "+2.5", " three"],
          ["*** Update File: old.txt", "*** Move to: moved.txt", "@@", "-this", "+that"],
          ["*** Delete File: gone.txt"],
        ]
          .flat()
          .join("\n"),
      ),
    );
    expect(lines).toBe("Applied:\nA new/file.txt\nM change.txt\nM old.txt -> moved.txt\nD gone.txt");
    expect([await text("new/file.txt"), await text("change.txt"), await text("moved.txt")]).toEqual([
      "hello\n\nworld\n",
      "one\n2\n2.5\nthree\n",
      "keep\nthat\n",
    ]);
    expect(await readdir(it.workspace)).toEqual([".parley", "change.txt", "moved.txt", "new"]);
    expect(await readdir(at(".parley/changes"))).toEqual([]);
  });

  test("finds its place by the line after @@, and the file's end", async () => {
    await writeFile(at("a.py"), "class A\n  def f\n    x\nclass B\n  def f\n    x\n");
    await said(
      applyPatch(it.context),
      patch("*** Update File: a.py", "@@ class B", "@@   def f", "-    x", "+    y"),
    );
    expect(await text("a.py")).toBe("class A\n  def f\n    x\nclass B\n  def f\n    y\n");
    await writeFile(at("end.txt"), "x\ny\nx");
    await said(
      applyPatch(it.context),
      patch("*** Update File: end.txt", "@@", "-x", "+z", "*** End of File"),
    );
    expect(await text("end.txt")).toBe("x\ny\nz\n");
    await said(applyPatch(it.context), patch("*** Update File: end.txt", "@@", "+last"));
    expect(await text("end.txt")).toBe("x\ny\nz\nlast\n");
  });

  test("keeps line endings, byte order mark and spaces of lines that stay", async () => {
    await writeFile(at("a.txt"), "\ufeffone  \r\ntwo\r\nthree");
    await said(
      applyPatch(it.context),
      patch("*** Update File: a.txt", "@@ -1,3 +1,3 @@ whatever", " one", "-two", "+2", "+b"),
    );
    expect(await text("a.txt")).toBe("\ufeffone  \r\n2\r\nb\r\nthree");
  });

  test.each([
    [["*** Update File: a.txt", "@@", "-nowhere", "+x"], "not in the file"],
    [["*** Update File: a.txt", "@@", "-same", "+x"], "line 1 and at line 2"],
    [["*** Update File: a.txt", "@@ nothing", "-same", "+x"], "line after @@ is not in the file"],
    [["*** Update File: none.txt", "@@", "-same", "+x"], "there is no file none.txt"],
    [["*** Update File: a.txt"], "nothing is changed"],
    [["*** Update File: a.txt", "@@", "same"], 'begins with " "'],
    [["*** Add File: a.txt", "+x"], "is there already"],
    [["*** Add File: b.txt", "x"], 'begins with "+"'],
    [["*** Add File: ../b.txt", "+x"], "outside the workspace"],
    [["*** Update File: a.txt", "*** Move to: /etc/x", "@@ same", "-same", "+x"], "outside the workspace"],
    [["*** Delete File: none.txt"], "there is no file none.txt"],
    [["*** Delete File: a.txt", "*** Delete File: a.txt"], "twice"],
    [
      ["*** Delete File: a.txt", "*** Update File: ./a.txt", "@@ same", "-same", "+x"],
      "two parts of the patch change a.txt",
    ],
    [["hello"], 'begins with " "'],
    [[], "names no file"],
  ])("that does not fit changes nothing and says why: %j", async (lines, reason) => {
    await writeFile(at("a.txt"), "same\nsame\n");
    await writeFile(at("first.txt"), "1\n");
    const before = await readdir(it.workspace);
    // A part that fits stands before it, so that there is something to change.
    const fits = lines.length === 0 ? [] : ["*** Update File: first.txt", "@@", "-1", "+2"];
    expect(await refusedWith(applyPatch(it.context), patch(...fits, ...lines))).toContain(reason);
    expect([await text("a.txt"), await text("first.txt")]).toEqual(["same\nsame\n", "1\n"]);
    expect((await readdir(it.workspace)).filter((name) => name !== ".parley")).toEqual(before);
  });

  test("without its first or last line, or a file, is refused", async () => {
    expect(await refusedWith(applyPatch(it.context), patch("hello"))).toContain("a file begins with");
    expect(await refusedWith(applyPatch(it.context), { input: "*** Add File: x\n+x" })).toContain(
      "Begin Patch",
    );
    expect(
      await refusedWith(applyPatch(it.context), { input: "*** Begin Patch\n*** Add File: x\n+x" }),
    ).toContain("End Patch");
  });

  test("that meets what it does not expect says which file, and changes none", async () => {
    await writeFile(at("a.txt"), "1\n");
    await writeFile(at("b.txt"), "2\n");
    await writeFile(at("latin"), Buffer.from([0x61, 0xe9, 0x62]));
    const asked: string[] = [];
    const notes = {
      refusal: async (_scope: unknown, path: string) => (path === "b.txt" ? "b.txt is private" : null),
    } as unknown as NonNullable<typeof it.context.notes>;
    const refused = async (context: typeof it.context, ...lines: readonly string[]): Promise<string> =>
      call(applyPatch(context), patch("*** Add File: new.txt", "+x", ...lines), it.workspace).then(
        () => "done",
        (error: { readonly code: string; readonly message: string }) => `${error.code}: ${error.message}`,
      );
    for (const lines of [
      ["*** Add File: a.txt", "+x"],
      ["*** Delete File: none.txt"],
      ["*** Update File: none.txt", "-x"],
      ["*** Update File: latin", "-x"],
      ["*** Update File: a.txt", "*** Move to: b.txt", "-1", "+2"],
      ["*** Update File: a.txt", "-1", "+2", "*** Delete File: ./a.txt"],
      ["*** Add File: sub/../new.txt", "+y"],
      ["*** Update File: a.txt", "*** Move to: ./new.txt", "-1", "+2"],
    ])
      asked.push(await refused(it.context, ...lines));
    asked.push(await refused({ ...it.context, notes }, "*** Delete File: b.txt"));
    expect(asked).toEqual([
      "invalid: a.txt is there already; update it",
      "missing: there is no file none.txt",
      "missing: there is no file none.txt",
      "invalid: latin is not UTF-8 text",
      "invalid: b.txt is there already; nothing may be moved over it",
      "invalid: two parts of the patch change a.txt; put them under one header",
      "invalid: two parts of the patch change new.txt; put them under one header",
      "invalid: two parts of the patch change new.txt; put them under one header",
      "denied: b.txt is private",
    ]);
    expect([await text("a.txt"), await text("b.txt")]).toEqual(["1\n", "2\n"]);
    expect(await readdir(it.workspace)).not.toContain("new.txt");
  });

  test("changes nothing in a .git folder", async () => {
    const input =
      "*** Begin Patch\n*** Add File: fine.txt\n+x\n*** Add File: .git/hooks/pre-commit\n+id\n*** End Patch";
    expect(await refusedWith(applyPatch(it.context), { input })).toContain("change it with git");
    expect(await readdir(it.workspace)).not.toContain("fine.txt");
  });

  test("whose last step fails takes the others back", async () => {
    await writeFile(at("a.txt"), "1\n");
    await mkdir(at("locked"));
    await writeFile(at("locked/b.txt"), "1\n");
    // What is to be deleted becomes a folder while the patch is worked out: the only failure that root meets
    // too.
    const files = workspaceFiles({ root: it.workspace });
    const workspace = await files.writable();
    const spoiling = {
      ...files,
      writable: async () => ({
        ...workspace,
        remove: (path: string) => workspace.remove(path === "locked/b.txt" ? "locked" : path),
      }),
    };
    const input = patch(
      "*** Update File: a.txt",
      "@@",
      "-1",
      "+2",
      "*** Add File: new.txt",
      "+x",
      "*** Delete File: locked/b.txt",
    );
    expect(await refusedWith(applyPatch({ ...it.context, files: spoiling }), input)).toContain(
      "not a regular file",
    );
    expect([await text("a.txt"), await text("locked/b.txt")]).toEqual(["1\n", "1\n"]);
    expect(await readdir(it.workspace)).toEqual([".parley", "a.txt", "locked"]);
    expect(await readdir(at(".parley/changes"))).toEqual([]);
  });
});

describe("what a dead process left", () => {
  const program = fileURLToPath(new URL("patch-and-die.ts", import.meta.url));

  test("is all of a patch or nothing of it, wherever it died", async () => {
    const ends = new Set<string>();
    const dieAt = async (call: number): Promise<boolean> => {
      const own = await stage();
      for (const name of ["a", "b", "c"]) await writeFile(join(own.workspace, name), "old\n");
      const child = spawn("node", [program, own.workspace, String(call)], { stdio: "inherit" });
      const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
      // The first tool of the next process finishes or forgets it.
      await workspaceFiles({ root: own.workspace }).writable();
      const names = (await readdir(own.workspace)).filter((name) => name !== ".parley");
      const state = await Promise.all(
        names.map(async (name) => `${name}:${(await readFile(join(own.workspace, name), "utf8")).trim()}`),
      );
      expect(["a:old,b:old,c:old", "a:new,c:new,d:new"]).toContain(state.join());
      expect(await readdir(join(own.workspace, ".parley/changes")).catch(() => [])).toEqual([]);
      ends.add(state.join());
      await own.close();
      if (signal === null) expect(code).toBe(0);
      return signal !== null;
    };
    // Every third call; the long run takes each.
    const step = process.env["PARLEY_LONG"] === "1" ? 1 : 3;
    for (let first = 1, died = true; died; first += 3 * step) {
      const together = await Promise.all([first, first + step, first + 2 * step].map(dieAt));
      died = together.every(Boolean);
    }
    expect(ends.size).toBe(2);
  });

  test("is not finished over what somebody wrote since, and a forged plan reaches nothing outside", async () => {
    await mkdir(at(".parley/changes"), { recursive: true });
    await writeFile(at("mine"), "mine");
    await writeFile(at(".parley-draft-1-1"), "theirs");
    await writeFile(join(it.outside, "victim"), "safe");
    await symlink(it.outside, at("out"));
    const steps = [
      { path: "mine", draft: ".parley-draft-1-1", expects: "0".repeat(64) },
      { path: "../victim", draft: null, expects: "e".repeat(64) },
      { path: "out/victim", draft: null, expects: "e".repeat(64) },
    ];
    await writeFile(at(".parley/changes/1-1.commit"), JSON.stringify({ steps }));
    // Walked from "a" it stays inside; taken as a name in the folder that it leads to it would not.
    for (const folder of ["a/d", "d"]) await mkdir(at(folder), { recursive: true });
    const forged = { steps: [{ path: "a/b", draft: "d/../../victim", expects: null }] };
    await writeFile(at(".parley/changes/1-2.commit"), JSON.stringify(forged));
    await writeFile(at(".parley/changes/1-3.plan"), '{"steps":[{"path":');
    await workspaceFiles({ root: it.workspace }).writable();
    expect([await text("mine"), await readFile(join(it.outside, "victim"), "utf8")]).toEqual([
      "mine",
      "safe",
    ]);
    expect(await readdir(at(".parley/changes"))).toEqual([]);
  });
});

test("modes stay as they were", async () => {
  await writeFile(at("run.sh"), "a\n");
  await chmod(at("run.sh"), 0o755);
  await said(applyPatch(it.context), patch("*** Update File: run.sh", "@@", "-a", "+b"));
  const { mode } = await import("node:fs").then(({ statSync }) => statSync(at("run.sh")));
  expect(mode & 0o777).toBe(0o755);
});
