// What a device lets happen on it: commands of its list, files of its folder, and each call once.
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
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
