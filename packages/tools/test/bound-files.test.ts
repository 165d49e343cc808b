// What an approval binds: each file that a command would run is part of it, and where that cannot be said, it
// is not kept for good and says so.
import { createHash } from "node:crypto";
import { mkdir, readdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  actionHash,
  describeAction,
  execDecision,
  rooted,
  type ExecAction,
  type ExecGrant,
  type ExecPolicy,
} from "../src/index.ts";
import { whatRuns, type WhatRunsRequest } from "../src/exec/bound-files.ts";
import { exec } from "../src/tools/exec.ts";
import { call, full, made, scopeOf, stage, type Stage } from "./stage.ts";

const asking: ExecPolicy = { mode: "allowlist", ask: "on-miss", allowlist: [], grants: [], owner: true };
type Command = string | readonly string[];

let it: Stage;
beforeEach(async () => {
  it = await stage({ exec: { policy: asking } });
});
afterEach(() => it.close());

async function actionOf(command: Command, workdir = "."): Promise<ExecAction> {
  const tool = made(exec(it.context));
  const parsed = tool.parse({ command: command as string, workdir });
  if (!parsed.ok) return expect.unreachable(parsed.reason);
  return (
    (await tool.action?.(parsed.args, scopeOf(it.workspace))) ?? expect.unreachable("exec has an action")
  );
}

async function isOffered(command: Command): Promise<boolean> {
  const decision = execDecision(await actionOf(command), asking);
  return decision.kind === "ask" && decision.always;
}

const write = (name: string, text: string): Promise<void> =>
  writeFile(join(it.workspace, name), text, { mode: 0o755 });
const grantOf = ({ argv, cwd, sandbox, files, outside }: ExecAction): ExecGrant => ({
  argv,
  cwd,
  sandbox,
  files,
  outside,
});

describe("always is not offered", () => {
  test.each<[string, Command]>([
    ["a change of folder", "cd sub && sh t.sh"],
    ["a loop", "for f in run*; do sh $f; done"],
    ["a pattern", "sh run*"],
    ["a makefile", "make"],
    ["a makefile's target", ["make", "all"]],
    ["a package's script", ["npm", "test"]],
    ["a package", ["node", "."]],
    ["a script that may load others", ["node", "x.js"]],
    ["a module", ["python3", "-m", "x"]],
    ["a script of a language with modules", ["python3", "x.py"]],
    ["a shell's line", ["sh", "-c", "echo"]],
    ["a shell's line by another name", ["/bin/bash", "-lc", "echo"]],
    ["a shell that reads its input", ["sh"]],
    ["a wrapper", ["env", "sh", "t.sh"]],
    ["a program nobody knows", ["/opt/tool", "x"]],
    ["a program of the workspace that is no script", ["./binary"]],
    ["a script for an interpreter", ["./x.py"]],
    ["a script that sources", ["sh", "sources.sh"]],
    ["a script with variables", ["sh", "variables.sh"]],
    ["a script that changes the folder", ["sh", "moves.sh"]],
    ["a script that starts what nobody knows", ["sh", "makes.sh"]],
    ["a script that looks at a repository", ["sh", "gits.sh"]],
    ["a script that goes on with another such one", ["./calls-makes.sh"]],
    ["a script that writes what it runs", ["sh", "writes.sh"]],
    ["a script that is not there", ["sh", "none.sh"]],
    ["a script without a first line", ["./t.sh"]],
    ["an option with a plus", ["sh", "+x", "t.sh"]],
    ["an option with a plus in a script", ["sh", "plus.sh"]],
    ["a script with a space that is none to a shell", ["sh", "space.sh"]],
    ["a script with a form feed", ["sh", "feed.sh"]],
    ["a script whose comment is none to a shell", ["sh", "comment.sh"]],
    ["a script whose interpreter begins with another space", ["./interpreter.sh"]],
    ["a script with another line end", ["sh", "crlf.sh"]],
  ])("for %s", async (_what, command) => {
    await mkdir(join(it.workspace, "sub"));
    await write("t.sh", "echo t\n");
    await write("sub/t.sh", "echo sub\n");
    await write("run1.sh", "echo run\n");
    await write("x.js", "require('./y')\n");
    await write("x.py", "#!/usr/bin/env python3\nimport y\n");
    await write("binary", "\u007fELF");
    await write("sources.sh", ". ./t.sh\n");
    await write("variables.sh", 'echo "$1"; "$X"\n');
    await write("moves.sh", "cd sub\nsh t.sh\n");
    await write("makes.sh", "make all\n");
    await write("gits.sh", "git status\n");
    await write("calls-makes.sh", "#!/bin/sh\nsh makes.sh\n");
    await write("writes.sh", "cat data >> writes.sh\n");
    // An option is no script, whatever the folder holds.
    await write("-c", "echo harmless\n");
    await write("-lc", "echo harmless\n");
    await write("+x", "echo harmless\n");
    await write("plus.sh", "sh +x t.sh\n");
    // To a shell these are the beginning of a program's path below this very folder.
    await write("space.sh", "\u00a0/usr/bin/cat t.sh\n");
    await write("feed.sh", "\f/usr/bin/cat t.sh\n");
    await write("comment.sh", "\u00a0#/x\n");
    await write("interpreter.sh", "#!\u00a0/bin/sh\necho\n");
    await write("crlf.sh", "echo a\r\necho b\n");
    expect(await isOffered(command)).toBe(false);
    const shown = describeAction(await actionOf(command));
    expect(shown).toMatch(
      /^(?:files: it may run files|other files: it may run some) that are not named here$/m,
    );
    // Kept by an earlier version, it is worth nothing.
    const action = await actionOf(command);
    expect(execDecision(action, { ...asking, grants: [grantOf(action)] }).kind).toBe("ask");
  });
});

describe("once", () => {
  test.each<[string, Command, string]>([
    ["from another folder", "cd sub && sh t.sh", "sub/t.sh"],
    ["from a folder further down", "cd sub && cd deep && sh d.sh", "sub/deep/d.sh"],
    ["by a pattern", "for f in run*; do sh $f; done", "run1.sh"],
    ["by a pattern in a folder", "sh sub/r*.sh", "sub/r.sh"],
    ["by a pattern for folders", ["bash", "-c", "for f in s*/deep/*; do . $f; done"], "sub/deep/d.sh"],
    ["by its full path with a pattern", "sh /WS/run*", "run1.sh"],
    ["by make", ["make", "all"], "Makefile"],
    ["by make elsewhere", "cd sub; make", "sub/Makefile"],
    ["by npm", ["npm", "test"], "package.json"],
    ["by node", ["node", "."], "index.js"],
    ["by python", ["python3", "-m", "pkg.mod"], "pkg/mod.py"],
  ])("a file that is run %s is bound", async (_how, asked, file) => {
    await mkdir(join(it.workspace, "sub/deep"), { recursive: true });
    await mkdir(join(it.workspace, "pkg"));
    for (const name of [
      "run1.sh",
      "sub/t.sh",
      "sub/r.sh",
      "sub/deep/d.sh",
      "Makefile",
      "sub/Makefile",
      "package.json",
      "index.js",
      "pkg/mod.py",
    ])
      await write(name, "echo\n");
    const command = typeof asked === "string" ? asked.replace("/WS", it.workspace) : asked;
    const before = await actionOf(command);
    expect(before.files.map(({ path }) => path)).toContain(file);
    await write(file, "changed\n");
    expect(actionHash(await actionOf(command))).not.toBe(actionHash(before));
  });

  test("what only reads and writes says nothing of other files", async () => {
    for (const command of [["cp", "a", "b"], "cat a | wc -l", "echo x >> log 2>/dev/null"])
      expect(describeAction(await actionOf(command))).not.toContain("may run");
  });
});

test.each<[string, Command]>([
  ["a command", ["cp", "a", "b"]],
  ["a script", ["sh", "copies.sh"]],
  ["a script that another one starts", ["sh", "calls.sh"]],
  ["where a script sends its output", ["sh", "sends.sh"]],
  ["a script that reads", ["sh", "reads.sh"]],
])(
  "%s: what it touches is what it touched when it was allowed, so a link that leads out by now is asked about",
  async (_what, command) => {
    await write("a", "theirs\n");
    await write("b", "old\n");
    await write("copies.sh", "cp a b\n");
    await write("calls.sh", "sh copies.sh\n");
    await write("reads.sh", "cat b\n");
    await write("sends.sh", "echo theirs > b\n");
    const before = await actionOf(command);
    const policy = { ...asking, grants: [grantOf(before)] };
    expect(execDecision(await actionOf(command), policy).kind).toBe("run");
    await rm(join(it.workspace, "b"));
    await symlink(join(it.outside, ".bashrc"), join(it.workspace, "b"));
    const after = await actionOf(command);
    expect(execDecision(after, policy)).toMatchObject({ kind: "ask" });
    expect(actionHash(after)).not.toBe(actionHash(before));
    expect(describeAction(after)).toMatch(
      /^(?:out of the file tools' reach: b|other files: it may run some that are not named here)$/m,
    );
    // Whoever allows it now allows that, where all that would run is known.
    expect(execDecision(after, { ...asking, grants: [grantOf(after)] }).kind).toBe(
      after.closed ? "run" : "ask",
    );
  },
);

test("whenever always is offered, each file that the command would run is bound, and changed it is not run", async () => {
  const canary = join(it.outside, "ran");
  const names = ["a.sh", "b.sh", "sub/c.sh", "Makefile", "package.json", "index.js", "x.py", "echo", "ls"];
  const lines = [
    "echo hi",
    "ls",
    "pwd",
    "sh b.sh",
    "./b.sh",
    "sh sub/c.sh",
    "sub/c.sh",
    "cd sub",
    "sh c.sh",
    "echo x > out",
    "cat b.sh > out; sh out",
    "echo x >> b.sh",
    "make",
    "PATH=.",
    "export PATH=.",
    "printf -v PATH .",
    ". ./b.sh",
    "set -e",
    "# sh b.sh",
    "true && ./b.sh",
    "a() { sh b.sh; }",
    "mkdir -p sub",
    "touch b.sh",
    "cp b.sh out",
    "exit 0",
    "ls | sh",
    "sh < b.sh",
    "git status",
    "./index.js",
  ];
  const script = fc.tuple(
    fc.constantFrom("#!/bin/sh\n", "#!/bin/sh -e\n", "", "#!/usr/bin/env bash\n"),
    fc.array(fc.constantFrom(...lines), { maxLength: 3 }),
  );
  const command = fc.constantFrom<Command>(
    ["./a.sh"],
    ["./a.sh"],
    ["sh", "a.sh"],
    ["sh", "a.sh"],
    ["bash", "a.sh", "x"],
    ["sh", "-e", "a.sh"],
    ["sh", "b.sh"],
    ["sub/c.sh"],
    ["ls", "-l"],
    ["mkdir", "-p", "sub"],
    ["make"],
    ["npm", "test"],
    ["node", "index.js"],
    ["python3", "x.py"],
    ["env", "sh", "a.sh"],
    "sh a.sh",
    "sh a.sh && ls",
    "cd sub && sh c.sh",
  );
  let offered = 0;
  await fc.assert(
    fc.asyncProperty(command, fc.tuple(script, script, script), async (asked, scripts) => {
      await rm(it.workspace, { recursive: true, force: true });
      await mkdir(join(it.workspace, "sub"), { recursive: true });
      const texts = new Map(names.map((name) => [name, "all:\n\n"]));
      for (const [index, [first, rest]] of scripts.entries()) {
        // None calls itself or one before it: that would never end.
        const later = rest.filter(
          (line) => !["a.sh", "b.sh", "c.sh"].slice(0, index + 1).some((name) => line.includes(name)),
        );
        texts.set(names[index] ?? "", `${first}${later.join("\n")}\n`);
      }
      for (const [name, text] of texts) await write(name, text);
      if (!(await isOffered(asked))) return;
      offered += 1;
      const grants = [grantOf(await actionOf(asked))];
      const isRun = async (): Promise<boolean> =>
        execDecision(await actionOf(asked), { ...asking, grants }).kind === "run";
      expect(await isRun()).toBe(true);
      for (const [name, text] of texts) {
        await write(name, `#!/bin/sh\ntouch ${canary}\n`);
        if (!(await isRun())) await write(name, text);
      }
      // All that is not bound is changed now, and none of it runs.
      await call(
        exec({ ...it.context, exec: { ...it.context.exec, policy: full } as never }),
        { command: asked as string },
        it.workspace,
      );
      expect(await readdir(it.outside), String(asked)).not.toContain("ran");
    }),
    { numRuns: 60 },
  );
  // Of 60 that chance made, a third on average.
  expect(offered).toBeGreaterThan(3);
}, 120_000);

describe("the files that a command may run", () => {
  const bound = async (
    parts: readonly (readonly string[])[] | null,
    more: Partial<WhatRunsRequest> = {},
  ): Promise<readonly string[]> => {
    const files = rooted({ root: it.workspace });
    const { files: found, closed } = await whatRuns({
      parts,
      line: "",
      writes: [],
      folder: "",
      files,
      find: async (name) => name,
      ...more,
    });
    return closed ? ["closed", ...found.map(({ path }) => path)] : found.map(({ path }) => path);
  };
  const put = async (...paths: readonly string[]): Promise<void> => {
    for (const path of paths) {
      await mkdir(join(it.workspace, path, ".."), { recursive: true });
      await write(path, path);
    }
  };

  test("are those of its words, of the parts of its words and of what builds, each once and in order", async () => {
    await put(
      "b.js",
      "a.js",
      "sub/c.js",
      "sub/deep/d.js",
      "x y",
      "run1.sh",
      "run2.sh",
      "p/m.py",
      "p/__main__.py",
    );
    await put("GNUmakefile", "makefile", "Makefile", "package.json", "index.js", "Cargo.toml", "build.rs");
    await put("justfile", "q/__init__.py", "other.py", "sub/package.json", "sub/index.js");
    await symlink("a.js", join(it.workspace, "link.js"));
    await symlink(it.outside, join(it.workspace, "out"));
    await writeFile(join(it.outside, "far.js"), "");
    const rows: readonly (readonly [readonly string[], readonly string[]])[] = [
      [
        ["/opt/x", "b.js", "a.js", "b.js", "./a.js"],
        ["a.js", "b.js"],
      ],
      [
        ["/opt/x", "--require=./b.js", "-Isub/c.js,a.js"],
        ["a.js", "b.js"],
      ],
      [
        ["/opt/x", "-e", "require('a.js');b.js|run1.sh&&{sub/c.js}"],
        ["a.js", "b.js", "run1.sh", "sub/c.js"],
      ],
      [["/opt/x", "x y"], ["x y"]],
      [["/opt/x", "sub"], []],
      [["/opt/x", "sub", "c.js"], ["sub/c.js"]],
      [["/opt/x", "sub", "deep", "d.js"], ["sub/deep/d.js"]],
      [
        ["/opt/x", "run*", "*/c.js", "s?b/[d]eep/*.js"],
        ["run1.sh", "run2.sh", "sub/c.js", "sub/deep/d.js"],
      ],
      [["/opt/x", "sub/../a.js", "none.js", "../a.js"], ["a.js"]],
      [["/opt/x", "link.js"], ["a.js"]],
      [["/opt/x", "out/far.js", join(it.outside, "far.js")], []],
      [
        ["/opt/x", join(it.workspace, "sub/c.js"), join(it.workspace, "run[1].sh")],
        ["run1.sh", "sub/c.js"],
      ],
      [["a.js"], ["a.js"]],
      [["/usr/bin/make"], ["GNUmakefile", "Makefile", "makefile"]],
      [["npm", "test"], ["package.json"]],
      [["/usr/bin/pnpm", "x"], ["package.json"]],
      [["yarn"], ["package.json"]],
      [
        ["env", "node"],
        ["index.js", "package.json"],
      ],
      [
        ["/usr/bin/node", "sub"],
        ["index.js", "package.json", "sub/index.js", "sub/package.json"],
      ],
      [
        ["cargo", "run"],
        ["Cargo.toml", "build.rs"],
      ],
      [["just"], ["justfile"]],
      [["toString"], []],
      [["python3", "-m", "p.m"], ["p/m.py"]],
      [["python3", "-m", "p"], ["p/__main__.py"]],
      [["python3", "-m", "q"], ["q/__init__.py"]],
      [["python3", "other"], []],
      [["/bin/cat", "a.js"], ["closed"]],
    ];
    const found = [];
    for (const [words] of rows) found.push([words, await bound([words])]);
    expect(found).toEqual(rows);
    expect([
      await bound([
        ["/bin/cat", "a.js"],
        ["/opt/x", "b.js"],
      ]),
      await bound(null, { line: "for f in run*; do sh $f; done < b.js" }),
      await bound([["/opt/x", "c.js", "../a.js"]], { folder: "sub" }),
      await bound([["/opt/x", join(it.workspace, "a.js")]], { folder: "sub" }),
      await bound([["/bin/sh", "run1.sh"]], { writes: ["run1.sh"] }),
      await bound([["/bin/cat", "a.js"]], { writes: ["run1.sh"] }),
    ]).toEqual([
      ["b.js"],
      ["b.js", "run1.sh", "run2.sh"],
      ["a.js", "sub/c.js"],
      ["a.js"],
      ["run1.sh"],
      ["closed"],
    ]);
  });

  test("are looked for among two thousand words and names, four thousand letters, and thirty-two folders", async () => {
    await put("a.js");
    const words = (count: number): readonly string[] => Array.from({ length: count }, (_, nth) => `w${nth}`);
    const tooMany = (count: number) => bound([["/opt/x", ...words(count), "a.js"]]);
    expect(await tooMany(1_998)).toEqual(["a.js"]);
    await expect(tooMany(1_999)).rejects.toMatchObject({
      code: "invalid",
      message: "it has more than 2000 words that may name a file; put it into a script",
    });
    expect(await bound([["/opt/x", `${"./".repeat(2_046)}a.js`]])).toEqual(["a.js"]);
    expect(await bound([["/opt/x", `${"./".repeat(2_046)}/a.js`]])).toEqual([]);
    // The folder that it starts in is the first of the thirty-two.
    for (let nth = 10; nth < 43; nth += 1) await put(`f${nth}/z.js`);
    const folders = Array.from({ length: 33 }, (_, nth) => `f${nth + 10}`);
    expect(await bound([["/opt/x", "z.js", ...folders]])).toEqual(
      folders.slice(0, 31).map((folder) => `${folder}/z.js`),
    );
  });

  test("have the hash of what they hold; longer than thirty-two mebibytes, of that and of how much more there is", async () => {
    await put("a", "b");
    await truncate(join(it.workspace, "b"), 32 * 1024 * 1024 + 1);
    const { files } = await whatRuns({
      parts: [["/opt/x", "a", "b"]],
      line: "",
      writes: [],
      folder: "",
      files: rooted({ root: it.workspace }),
      find: async (name) => name,
    });
    expect(files).toEqual([
      { path: "a", sha256: createHash("sha256").update("a").digest("hex") },
      // What sha256sum says of a "b", 33,554,431 zeros and "and 1 bytes more".
      { path: "b", sha256: "f48db06b3903420d228a06103e4c35ab0c839f53f3b3e48465b1354a9e926534" },
    ]);
  });
});
