// What a device lets happen on it: commands of its list, files of its folder, and each call once.
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startOf } from "../../src/is-alive.ts";
import { isAllowed } from "../../src/node/allowed-commands.ts";
import { callJournal } from "../../src/node/call-journal.ts";
import { deviceCommands } from "../../src/node/device-commands.ts";

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "parley-node-")));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test.each([
  [["git", "status"], "git *", true],
  [["git"], "git *", true],
  [["git"], "git", true],
  [["git", "status"], "git", false],
  [["gitk"], "git *", false],
  [["/tmp/git", "status"], "git *", false],
  [["git", "log", "--oneline"], "git log --*", true],
  [["git", "push"], "git log --*", false],
  [["a.b"], "a.b", true],
  [["axb"], "a.b", false],
  [["anything"], "*", true],
  [["anything", "else"], "*", false],
  [["sh", "-c", "x"], "", false],
])("%j by %j: %j", (argv, pattern, allowed) => {
  expect(isAllowed(argv, [pattern])).toBe(allowed);
});

test("files are those of the folder: no path, link or pipe leads out of it", async () => {
  const inside = join(folder, "in");
  await mkdir(inside);
  await writeFile(join(folder, "secret"), "secret");
  await writeFile(join(inside, "a.txt"), "words");
  await symlink(join(folder, "secret"), join(inside, "link"));
  await symlink(folder, join(inside, "up"));
  const commands = await deviceCommands(
    { allow: [], folder: inside, screenshot: false },
    { env: { PATH: "/usr/bin:/bin" }, show: () => undefined },
  );
  const run = (request: Parameters<typeof commands.run>[0]) =>
    commands.run(request, 10_000, new AbortController().signal);
  expect(await run({ command: "file_read", path: "a.txt" })).toEqual({ ok: true, text: "words" });
  expect((await run({ command: "file_list" })).text).toBe("a.txt\nlink\nup");
  for (const path of ["../secret", "link", "up/secret", join(folder, "secret"), "a\0b", "."]) {
    expect(await run({ command: "file_read", path })).toMatchObject({ ok: false });
    expect(await run({ command: "file_write", path, text: "mine" })).toMatchObject({ ok: false });
  }
  expect(await run({ command: "file_list", path: "up" })).toMatchObject({ ok: false });
  expect(await run({ command: "file_write", path: "up/new/x", text: "mine" })).toMatchObject({ ok: false });
  expect(await run({ command: "file_write", path: "new/b.txt", text: "mine" })).toMatchObject({ ok: true });
  expect(await readFile(join(inside, "new/b.txt"), "utf8")).toBe("mine");
  expect(await readFile(join(folder, "secret"), "utf8")).toBe("secret");
  expect(await run({ command: "run", argv: ["ls"] })).toMatchObject({ ok: false });
  expect(commands.about.commands).toEqual(["notify", "file_read", "file_list", "file_write"]);
});

test("a call begins once, whoever asks again, and its result stays until the gateway has it", async () => {
  const id = "a".repeat(32);
  const first = await callJournal(folder, Date.now());
  expect(await first.begin(id)).toEqual({ state: "new" });
  expect(await first.begin(id)).toEqual({ state: "running" });
  const restarted = await callJournal(folder, Date.now());
  expect(await restarted.begin(id)).toEqual({ state: "unknown" });
  await first.end(id, { ok: true, text: "done" });
  expect(await restarted.begin(id)).toEqual({ state: "done", result: { ok: true, text: "done" } });
  await restarted.over(id);
  expect(await restarted.begin(id)).toEqual({ state: "over" });
  await writeFile(join(folder, `${"b".repeat(32)}.json`), '{"state":"be');
  expect(await restarted.begin("b".repeat(32))).toEqual({ state: "unknown" });
  await expect(restarted.begin("../../x")).rejects.toThrow(/none/);
});

test("a call of a process whose number another program has now is over, one of a process that is there is not", async () => {
  const here = startOf(process.ppid);
  const other = here === null ? null : `${here}1`;
  const journal = await callJournal(folder, Date.now());
  const beganBy = async (letter: string, started: string | null): Promise<string> => {
    const id = letter.repeat(32);
    await writeFile(
      join(folder, `${id}.json`),
      JSON.stringify({ state: "began", pid: process.ppid, started }),
    );
    return (await journal.begin(id)).state;
  };
  expect(await beganBy("c", here)).toBe("running");
  expect(await beganBy("d", null)).toBe("running");
  expect(await beganBy("e", other)).toBe(other === null ? "running" : "unknown");
});

test("no shell reads what a command says, and no other word passes for a program that is allowed", async () => {
  const commands = await deviceCommands(
    { allow: ["echo *", "pwd"], folder, screenshot: false },
    { env: { PATH: "/usr/bin:/bin" }, show: () => undefined },
  );
  const run = (...argv: string[]) =>
    commands.run({ command: "run", argv }, 10_000, new AbortController().signal);
  const tricks = ["a; touch x", "$(touch x)", "`touch x`", "b\ntouch x", "| touch x", "> x"];
  expect((await run("echo", ...tricks)).text).toBe(`exit 0\n${tricks.join(" ")}\n`);
  expect((await run("pwd")).text).toBe(`exit 0\n${folder}\n`);
  for (const argv of [
    ["echo; touch x"],
    ["echo\n", "x"],
    ["\necho", "x"],
    ["A=1", "echo", "x"],
    ["env", "echo", "x"],
    ["/bin/echo", "x"],
    ["./echo", "x"],
    ["pwd\n"],
    ["pwd", ""],
    ["echo\0", "x"],
    [""],
    [],
  ])
    expect(await run(...argv), JSON.stringify(argv)).toMatchObject({ ok: false });
  expect((await run("echo", "a\0b")).ok).toBe(false);
  expect(await readdir(folder)).toEqual([]);
});

test("what a command writes is cut with its size told, and no letter is broken", async () => {
  const commands = await deviceCommands(
    { allow: [`${process.execPath} *`], screenshot: false },
    { env: { PATH: "/usr/bin:/bin" }, show: () => undefined },
  );
  const written = async (script: string): Promise<string> => {
    const argv = [process.execPath, "-e", script];
    return (await commands.run({ command: "run", argv }, 30_000, new AbortController().signal)).text;
  };
  expect(await written("process.stdout.write('€'.repeat(60_000))")).toBe(`exit 0\n${"€".repeat(60_000)}`);
  const huge = await written("process.stdout.write('€'.repeat(10_000_000))");
  expect(huge.length).toBeLessThanOrEqual(65_536);
  expect(huge).toMatch(/^exit 0\n€+\n… \(30000000 bytes in all\)$/);
});
