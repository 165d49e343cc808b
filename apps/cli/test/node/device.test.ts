// What a device lets happen on it: commands of its list, files of its folder, and each call once.
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
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

/** This device, with such programs on its path: the lines of a script each. */
async function device(
  programs: { readonly [name: string]: string },
  offers: Partial<Parameters<typeof deviceCommands>[0]> = {},
  env: { readonly [name: string]: string } = {},
) {
  const shown: string[] = [];
  await mkdir(join(folder, "bin"), { recursive: true });
  for (const [name, script] of Object.entries(programs))
    await writeFile(join(folder, "bin", name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const commands = await deviceCommands(
    { allow: [], screenshot: false, ...offers },
    {
      env: { PATH: `${join(folder, "bin")}:/usr/bin:/bin`, ...env },
      show: (title, text) => void shown.push(`${title}: ${text}`),
    },
  );
  const run = (
    request: Parameters<typeof commands.run>[0],
    forMs = 10_000,
    signal = new AbortController().signal,
  ) => commands.run(request, forMs, signal);
  return { commands, shown, run };
}

test("a device says what it is and offers, its patterns cut to what a gateway takes", async () => {
  const allow = Array.from({ length: 51 }, (_, n) => `${n} ${"x".repeat(200)}`);
  const { commands } = await device({ grim: "true" }, { allow, folder, screenshot: true });
  expect(commands.about).toEqual({
    host: hostname().slice(0, 128),
    platform: `${process.platform} ${process.arch}`,
    commands: ["notify", "run", "file_read", "file_list", "file_write", "screenshot"],
    allow: allow.slice(0, 50).map((each) => each.slice(0, 200)),
  });
  expect((await device({})).commands.about).not.toHaveProperty("allow");
});

test("a message is printed, and shown where there is a screen and a program for it, under a name that is never an option", async () => {
  const notify = { "notify-send": `printf '%s|' "$@" > ${join(folder, "said")}` };
  const message = { command: "notify", title: "-t", text: "Tea is ready" } as const;
  const blind = await device(notify);
  expect(await blind.run(message)).toEqual({ ok: true, text: "Printed where the device runs." });
  expect(blind.shown).toEqual(["-t: Tea is ready"]);
  const seeing = await device(notify, {}, { DISPLAY: ":0" });
  expect(await seeing.run(message)).toEqual({ ok: true, text: "Shown on its screen." });
  expect(await readFile(join(folder, "said"), "utf8")).toBe("--|-t|Tea is ready|");
  await seeing.run({ command: "notify", text: "x" });
  expect(await readFile(join(folder, "said"), "utf8")).toBe("--|Parley|x|");
  expect(seeing.shown).toEqual(["-t: Tea is ready", ": x"]);
  const broken = await device({ "notify-send": "exit 1" }, {}, { WAYLAND_DISPLAY: "w" });
  expect(await broken.run(message)).toEqual({ ok: true, text: "Printed where the device runs." });
});

test("a picture of the screen is one file, brought by the first program that is there; what fails is told, and no file stays", async () => {
  const before = (await readdir(tmpdir())).filter((name) => name.startsWith("parley-screen-"));
  const look = async (script: string) =>
    (await device({ scrot: script }, { screenshot: true })).run({ command: "screenshot" });
  expect(await look('[ "$1" = -o ] && printf png > "$2"')).toEqual({
    ok: true,
    text: "The screen.",
    picture: Buffer.from("png").toString("base64"),
  });
  expect(await look("echo no screen; exit 3")).toEqual({
    ok: false,
    text: "no picture of the screen: no screen\n",
  });
  const sized = (bytes: number) => look(`head -c ${bytes} /dev/zero > "$2"`);
  expect(await sized(1_400_001)).toEqual({
    ok: false,
    text: "the picture has 1400001 bytes, which is too much",
  });
  expect(await sized(1_400_000)).toMatchObject({ ok: true });
  expect(await look("true")).toMatchObject({ ok: false, text: expect.stringMatching(/^ENOENT/) as string });
  expect((await readdir(tmpdir())).filter((name) => name.startsWith("parley-screen-"))).toEqual(before);
  const none = await device({}, { screenshot: false });
  for (const command of ["screenshot", "run", "file_read", "camera"] as const)
    expect(await none.run({ command })).toEqual({ ok: false, text: `this device does not offer ${command}` });
});

test("a command has the device's own variables alone, tells how it ended, and ends with its time and with the device", async () => {
  const { run } = await device(
    {},
    { allow: ["env", "sh *"] },
    { LANG: "C", LC_ALL: "C", SECRET_KEY: "k", TZ: "UTC" },
  );
  const told = (await run({ command: "run", argv: ["env"] })).text;
  expect(
    told
      .split("\n")
      .filter((line) => /^(?:LANG|LC_ALL|TZ|SECRET_KEY)=/.test(line))
      .toSorted(),
  ).toEqual(["LANG=C", "LC_ALL=C", "TZ=UTC"]);
  const sh = (script: string, ...more: [number?, AbortSignal?]) =>
    run({ command: "run", argv: ["sh", "-c", script] }, ...more);
  expect(await sh("echo a; echo b >&2; exit 3")).toEqual({
    ok: false,
    text: expect.stringMatching(/^exit 3\n[ab]\n[ab]\n$/) as string,
  });
  expect(await sh("kill -TERM $$")).toEqual({ ok: false, text: "ended by SIGTERM\n" });
  expect(await sh("sleep 60", 1)).toEqual({ ok: false, text: "ended, its time was over\n" });
  const stopping = new AbortController();
  const stopped = sh("sleep 60", 60_000, stopping.signal);
  stopping.abort();
  expect(await stopped).toMatchObject({ ok: false, text: "stopped with the device\n" });
  expect(await run({ command: "run", argv: ["none"] })).toEqual({
    ok: false,
    text: "this device does not let run: none",
  });
});

test("a file that is too long keeps its beginning, and no letter is broken; what is no text is told with its size", async () => {
  const { run } = await device({}, { folder });
  const read = async (name: string, content: string | Buffer) => {
    await writeFile(join(folder, name), content);
    return run({ command: "file_read", path: name });
  };
  expect(await read("whole", "x".repeat(65_536))).toEqual({ ok: true, text: "x".repeat(65_536) });
  const cut = (await read("long", `A${"x".repeat(65_536)}`)).text;
  expect([cut.length, cut.slice(0, 2), cut.slice(-24)]).toEqual([
    65_536,
    "Ax",
    "xx\n… (65537 bytes in all)".slice(-24),
  ]);
  const wide = (await read("wide", "€".repeat(30_000))).text;
  expect(wide).toBe(`${"€".repeat(21_845)}\n… (90000 bytes in all)`);
  expect(await read("half", Buffer.from("a€").subarray(0, 3))).toEqual({ ok: true, text: "a\uFFFD" });
  expect(await read("picture", "a\0b")).toEqual({ ok: false, text: "picture is no text (3 bytes)" });
  expect(await run({ command: "file_read", path: "none" })).toMatchObject({
    ok: false,
    text: expect.stringMatching(/^ENOENT/) as string,
  });
});

test("a folder is listed by name, folders with a slash, a thousand at most; an empty one is said to be that", async () => {
  const { run } = await device({}, { folder });
  const list = async (path: string) => (await run({ command: "file_list", path })).text;
  for (const name of ["b", "a", "C"]) await mkdir(join(folder, "some", name), { recursive: true });
  await writeFile(join(folder, "some", "ab"), "");
  expect([await list("some"), await list("some/a")]).toEqual(["C/\na/\nab\nb/", "(empty)"]);
  await mkdir(join(folder, "many"));
  await Promise.all(
    Array.from({ length: 1_001 }, (_, n) =>
      writeFile(join(folder, "many", `f${String(n).padStart(4, "0")}`), ""),
    ),
  );
  const lines = (await list("many")).split("\n");
  expect([lines.length, lines[0], lines[999], lines[1_000]]).toEqual([
    1_001,
    "f0000",
    "f0999",
    "… (1001 in all)",
  ]);
});

test("a file is written whole in place of a longer one, for its owner alone, with the folders on its way", async () => {
  const { run } = await device({}, { folder });
  await writeFile(join(folder, "a"), "much longer than what comes");
  expect(await run({ command: "file_write", path: "a", text: "ä" })).toEqual({
    ok: true,
    text: "a has 2 bytes now.",
  });
  expect(await readFile(join(folder, "a"), "utf8")).toBe("ä");
  expect(await run({ command: "file_write", path: "x/y/z", text: "" })).toEqual({
    ok: true,
    text: "x/y/z has 0 bytes now.",
  });
  expect((await stat(join(folder, "x/y/z"))).mode & 0o777).toBe(0o600);
  expect(await run({ command: "file_write", path: "x", text: "" })).toMatchObject({ ok: false });
});

test("a call that is older than ten days is forgotten at the start, one of ten days is not", async () => {
  const nowMs = 1_800_000_000_000;
  const tenDays = 10 * 86_400_000;
  for (const [letter, ageMs] of [
    ["a", tenDays],
    ["b", tenDays + 1_000],
  ] as const) {
    const path = join(folder, `${letter.repeat(32)}.json`);
    await writeFile(path, '{"state":"over"}');
    await utimes(path, (nowMs - ageMs) / 1_000, (nowMs - ageMs) / 1_000);
  }
  const journal = await callJournal(folder, nowMs);
  expect(await readdir(folder)).toEqual([`${"a".repeat(32)}.json`]);
  expect(await journal.begin("b".repeat(32))).toEqual({ state: "new" });
  for (const id of ["a".repeat(15), "a".repeat(65), "A".repeat(32), `${"a".repeat(32)}\n`])
    await expect(journal.begin(id)).rejects.toThrow("the gateway sent a call whose id is none");
  expect(await journal.begin("c".repeat(16))).toEqual({ state: "new" });
});
