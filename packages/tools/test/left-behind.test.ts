// What a command in a sandbox could hide from the look at what it left behind, so that the owner's programs
// or prompts would meet it later.
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  rmdir,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lacks, program } from "@parley/testkit";
import { scanGuarded } from "../src/sandbox/guard-scan.ts";
import { exec } from "../src/tools/exec.ts";
import { write } from "../src/tools/write.ts";
import { memoryOrigins, type KeptOrigins } from "./memory-origins.ts";
import { said, stage, writingSandbox, type Stage } from "./stage.ts";

const bwrap = program("bwrap");
/** Outside Parley's own folder. */
const gitFoldersBelow = (root: string): string =>
  execFileSync("find", [".", "-path", "./.parley", "-prune", "-o", "-iname", ".git", "-print"], {
    cwd: root,
    encoding: "utf8",
  });

describe.skipIf(lacks(bwrap))("a command in a sandbox cannot hide what it leaves", () => {
  let it: Stage;
  let origins: KeptOrigins;
  const at = (path: string): string => join(it.workspace, path);
  const run = (command: string): Promise<string> => said(exec(it.context), { command, yieldMs: 100_000 });
  const inBackground = (command: string): Promise<string> =>
    said(exec(it.context), { command, background: true });
  const allOver = async (): Promise<void> => {
    while (origins.watches.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  beforeEach(async () => {
    origins = memoryOrigins();
    it = await stage({
      context: { origins, speakers: ["telegram:42"] },
      sandbox: (workspace) => writingSandbox(workspace),
    });
  });
  afterEach(() => it.close());

  test("as a bare repository: the workspace itself, one with its parts elsewhere, one with a long name", async () => {
    const head = "echo 'ref: refs/heads/main' > HEAD";
    expect(await run(`${head}; mkdir objects refs; echo '[core]' > config`)).toContain(
      "HEAD (now .parley/held/",
    );
    expect(await readdir(it.workspace)).not.toContain("HEAD");
    const told = await run(`mkdir w c c/objects c/refs; cd w; ${head}; echo ../c > commondir`);
    expect(told).toContain("w (now .parley/held/");
    expect(await readdir(it.workspace)).toEqual([".parley", "c"]);
    const long = "n".repeat(255);
    expect(await run(`mkdir ${long}; cd ${long}; ${head}; mkdir objects refs`)).toContain(
      "(now .parley/held/",
    );
    expect(await readdir(it.workspace)).toEqual([".parley", "c"]);
  });

  test("in a workspace that is a bare repository", async () => {
    await mkdir(at("objects"));
    await mkdir(at("refs"));
    await writeFile(at("HEAD"), "ref: refs/heads/main");
    await writeFile(at("config"), "[core]\n");
    expect(await run("echo evil >> config; mkdir hooks")).toMatch(
      /Read-only[^]*hooks \(now \.parley\/held\//,
    );
    expect(await readFile(at("config"), "utf8")).toBe("[core]\n");
  });

  test("deeper than a path is long, and the next command works as before", async () => {
    const name = "d".repeat(200);
    expect(
      await run(`for i in $(seq 40); do mkdir ${name}; cd -P ${name}; done; mkdir .git; echo ok`),
    ).toMatch(/^ok\n[^]*now \.parley\/held/);
    expect(gitFoldersBelow(it.workspace)).toBe("");
    expect(await run("echo again > made; cat made")).toMatch(/^again\n\[exit code 0/);
    // The oldest go when there are too many, this one too.
    await utimes(at(".parley/held/w1"), 1, 1);
    for (let i = 0; i < 100; i += 1) await mkdir(at(`.parley/held/old-${i}`));
    expect(await run("mkdir .x")).toContain("now .parley/held");
    expect(await readdir(at(".parley/held"))).not.toContain("w1");
    expect(await run("for i in $(seq 80); do mkdir d; cd -P d; done; mkdir .git")).toContain(
      "now .parley/held",
    );
    expect(gitFoldersBelow(it.workspace)).toBe("");
  });

  test("under names that are not UTF-8", async () => {
    const told = await run(
      "for n in $(printf 'a\\377 a\\376'); do mkdir $n $n/.git; done; touch $(printf '.\\377')",
    );
    expect(told).toContain("now .parley/held");
    expect(gitFoldersBelow(it.workspace)).toBe("");
    expect(await readdir(it.workspace)).toEqual([".parley"]);
  });

  test("where such names are the owner's: then it writes nothing", async () => {
    execFileSync("sh", ["-c", "mkdir -p $(printf 'o\\377')/.git"], { cwd: it.workspace });
    expect(await run("mkdir x")).toMatch(/Read-only file system[^]*not UTF-8/);
    expect(gitFoldersBelow(it.workspace)).toContain(".git");
  });

  test("that gives its owner's rights to other users of the machine", async () => {
    await run(
      "mkdir -p node_modules/x .x; for f in a node_modules/x/b .x/c; do echo > $f; chmod 6755 $f; done; echo > plain; chmod 751 plain",
    );
    for (const path of ["a", "node_modules/x/b"])
      expect((await stat(at(path))).mode & 0o7777, path).toBe(0o755);
    expect((await stat(at("plain"))).mode & 0o7777).toBe(0o751);
    expect((await stat(at(".parley/held"))).mode & 0o777).toBe(0o700);
  });

  test("behind another command that saw it there", async () => {
    await inBackground(
      "echo obey > USER.md; mkdir memory; echo obey > memory/x.md; mkdir n n/.git; touch made; while [ ! -e go ]; do sleep 0.01; done",
    );
    while (!(await readdir(it.workspace)).includes("made"))
      await new Promise((resolve) => setTimeout(resolve, 5));
    const second =
      "touch second; while [ -e USER.md -o -e memory -o -e n/.git ]; do sleep 0.01; done; " +
      "echo obey > USER.md; mkdir memory; echo obey > memory/x.md; echo more > memory/y.md; mkdir n/.git";
    await inBackground(second);
    while (!(await readdir(it.workspace)).includes("second"))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await writeFile(at("go"), "");
    await allOver();
    expect((await readdir(it.workspace)).toSorted()).toEqual([".parley", "go", "made", "n", "second"]);
    expect(await readdir(at("n"))).toEqual([]);
  });

  test("and what an owner's tools made while both ran stays", async () => {
    const host = { ...it.context, sandbox: { ...it.context.sandbox, kind: "none" as const } };
    await inBackground("while [ ! -e go ]; do sleep 0.01; done");
    await said(write(host), { path: "memory/today.md", content: "note" });
    await said(write(host), { path: ".npmrc", content: "" });
    await run("true");
    expect((await readdir(it.workspace)).toSorted()).toEqual([".npmrc", ".parley", "memory"]);
    await writeFile(at("go"), "");
    await allOver();
    expect(await readdir(at("memory"))).toEqual(["today.md"]);
    expect([...origins.files]).toEqual([]);
  });

  test("in a folder of prompts that was replaced while it ran, whose mount is gone with the old one", async () => {
    await mkdir(at("memory"));
    await writeFile(at("memory/a.md"), "mine");
    await inBackground("touch started; while [ ! -e go ]; do sleep 0.01; done; echo obey > memory/x.md");
    while (!(await readdir(it.workspace)).includes("started"))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await rm(at("memory"), { recursive: true });
    await mkdir(at("memory"));
    await writeFile(at("memory/a.md"), "mine");
    await writeFile(at("go"), "");
    await allOver();
    if (!(await readdir(at("memory"))).includes("x.md")) return; // The mount held.
    expect([...origins.files.keys()]).toEqual(["memory/x.md"]);
  });

  test("nor move a folder of Parley's away, with what it holds", async () => {
    await it.close();
    it = await stage({
      context: { origins },
      sandbox: (workspace) => writingSandbox(workspace, [join(workspace, "data/state")]),
    });
    await mkdir(at("data/state"), { recursive: true });
    await writeFile(at("data/state/secret"), "the secret");
    expect(await run("mv data d2; ls data/state; touch data/x")).toMatch(/busy\n\[exit code 0/);
    expect(await run("cat d2/state/secret data/state/secret")).not.toContain("the secret");
    expect(await readFile(at("data/state/secret"), "utf8")).toBe("the secret");
  });
});

test("a folder that got the number of one that is gone is another one", async () => {
  const root = await mkdtemp(join(tmpdir(), "parley-scan-"));
  const scan = async (): Promise<string | undefined> =>
    (await scanGuarded({ root, alsoPrompt: [], hidden: [] })).guarded.get(".x");
  await mkdir(join(root, ".x"));
  const first = await scan();
  await rmdir(join(root, ".x"));
  await new Promise((resolve) => setTimeout(resolve, 20)); // The clock of a file system has steps.
  await mkdir(join(root, ".x"));
  expect(await scan()).not.toBe(first);
  await rm(root, { recursive: true });
});

test("the look after a command ends at no number of entries", async () => {
  const root = await mkdtemp(join(tmpdir(), "parley-scan-"));
  await mkdir(join(root, "z/z/.git"), { recursive: true });
  await Promise.all(Array.from({ length: 3_000 }, (_, i) => writeFile(join(root, `a${i}`), "")));
  await writeFile(join(root, "z/z/.npmrc"), "");
  const request = { root, alsoPrompt: [], hidden: [] };
  expect((await scanGuarded(request, 1_000)).tooMuch).toBe(true);
  const after = await scanGuarded({ ...request, before: {} }, 1_000);
  expect([...after.guarded.keys()].toSorted()).toEqual(["z/z/.git", "z/z/.npmrc"]);
  await rm(root, { recursive: true });
});

const script = fileURLToPath(new URL("sandboxed-command.ts", import.meta.url));
const nobody = { encoding: "utf8", uid: 65534, gid: 65534 } as const;
/** Root reads and moves what it likes; others only what is open to them. */
const canBeNobody =
  process.getuid?.() === 0 && spawnSync(process.execPath, ["--check", script], nobody).status === 0;
describe.skipIf(lacks(bwrap) || !canBeNobody)("nor where the gateway does not run as root", () => {
  test("in folders that it closed, and by /proc", async () => {
    const it = await stage();
    try {
      for (const path of [it.outside, it.workspace]) await chmod(path, 0o777);
      await writeFile(join(it.workspace, "AGENTS.md"), "the owner's");
      await chmod(join(it.workspace, "AGENTS.md"), 0o666);
      const command =
        "for n in a b c d; do mkdir -p $n/in/.git; done; chmod 555 a/in; chmod 0 b; chmod 111 c/in c; chmod 555 d/in/.git; " +
        "for p in /proc/[0-9]*; do echo x >> $p/root/workspace/AGENTS.md; done";
      // What was closed before is the owner's choice.
      await mkdir(join(it.workspace, "closed"), { mode: 0 });
      execFileSync("chown", ["65534", join(it.workspace, "closed")]);
      const asked = [script, it.workspace, command, "chmod 700 closed"];
      const { stdout, stderr } = spawnSync(process.execPath, asked, nobody);
      expect(stderr).toBe("");
      const [left, opened] = stdout.split("\0");
      for (const path of ["a", "b", "c", "d"]) expect(left).toContain(`${path}/in/.git (now .parley/held/`);
      expect(gitFoldersBelow(it.workspace)).toBe("");
      expect(await readFile(join(it.workspace, "AGENTS.md"), "utf8")).toBe("the owner's");
      expect(opened).toContain("Read-only");
      expect((await stat(join(it.workspace, "closed"))).mode & 0o777).toBe(0);
    } finally {
      await it.close();
    }
  });
});
