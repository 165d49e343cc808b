// What is put aside after a command, whose a changed prompt is said to be, and what a second command in the
// same folder may write: without a sandbox, by what lies there before and after.
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
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isFault } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isOlder, type Origin, type Watch } from "../src/index.ts";
import {
  endWatch,
  watchOnHost,
  watchReader,
  watchSandboxed,
  watchScratch,
  type WatchRequest,
} from "../src/sandbox/guard-watch.ts";
import { foldersOf, scanGuarded } from "../src/sandbox/guard-scan.ts";
import { contentHash } from "../src/files/rooted.ts";
import { memoryOrigins, type KeptOrigins } from "./memory-origins.ts";

let root: string;
let origins: KeptOrigins;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "parley-watch-")));
  origins = memoryOrigins();
});
afterEach(() => rm(root, { recursive: true, force: true }));
const at = (path: string): string => join(root, path);
const put = async (...paths: readonly string[]): Promise<void> => {
  for (const path of paths) {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), path);
  }
};
const origin: Origin = { who: "telegram:7", session: "s", owner: false, sandboxed: true };
const request = (more: Partial<WatchRequest> = {}): WatchRequest => ({
  root,
  origin,
  alsoPrompt: ["notes"],
  hidden: [],
  origins,
  ...more,
});
const hash = (text: string): string => contentHash(Buffer.from(text));
const asideText = "put aside, because commands in a sandbox may not make them: ";

test("what a command made is put aside under its own name, in order, and what was there stays", async () => {
  await put("SOUL.md", "a/.env", "notes/old.md", "free");
  const watched = await watchSandboxed(request(), true);
  expect(watched.note).toBe(null);
  expect(watched.view.all).toBe(false);
  expect([...watched.view.readOnly].toSorted()).toEqual([".parley", "SOUL.md", "a/.env", "notes"]);
  expect([...origins.watches.values()]).toMatchObject([
    {
      id: "w1",
      root,
      origin,
      alsoPrompt: ["notes"],
      prompts: { "SOUL.md": hash("SOUL.md"), "notes/old.md": hash("notes/old.md") },
    },
  ]);
  const long = `.${"n".repeat(70)}`;
  await put("AGENTS.md", "b/..twice", `c/${long}`, "d/.git/config", "a/free", ".parley/own");
  const told = await watched.end();
  const moved = told
    .slice(asideText.length)
    .split(", ")
    .map((each) => each.replace(/\d+(?=-)/, "N"));
  expect([told.slice(0, asideText.length), ...moved.toSorted((one, two) => (one < two ? -1 : 1))]).toEqual([
    asideText,
    "AGENTS.md (now .parley/held/w1/N-AGENTS.md)",
    "b/..twice (now .parley/held/w1/N-twice)",
    `c/${long} (now .parley/held/w1/N-${"n".repeat(60)})`,
    "d/.git (now .parley/held/w1/N-git)",
  ]);
  const held = await readdir(at(".parley/held/w1"));
  const agents = held.find((name) => name.endsWith("-AGENTS.md")) ?? "";
  expect([held.length, told.includes(`w1/${agents})`)]).toEqual([4, true]);
  expect(await readFile(at(`.parley/held/w1/${agents}`), "utf8")).toBe("AGENTS.md");
  expect((await readdir(root)).toSorted()).toEqual([
    ".parley",
    "SOUL.md",
    "a",
    "b",
    "c",
    "d",
    "free",
    "notes",
  ]);
  expect([(await readdir(at("a"))).toSorted(), await readdir(at("d"))]).toEqual([[".env", "free"], []]);
  expect([origins.watches.size, origins.files.size]).toEqual([0, 0]);
  expect((await stat(at(".parley/held"))).mode & 0o777).toBe(0o700);
});

test("twenty are named and the rest is counted; nothing put aside is nothing said", async () => {
  const made = async (count: number): Promise<string> => {
    const watched = await watchSandboxed(request({ origins: undefined }), true);
    await put(...Array.from({ length: count }, (_, n) => `m${n}/.env`));
    return watched.end();
  };
  expect(await made(0)).toBe("");
  const twenty = await made(20);
  expect([twenty.split("(now ").length - 1, twenty.includes("more")]).toEqual([20, false]);
  expect(twenty).toContain("(now .parley/held/command/");
  const more = await made(22);
  expect([more.split("(now ").length - 1, / m\d+\/\.env \(now \S+\), and 2 more$/.test(more)]).toEqual([
    20,
    true,
  ]);
});

test("what was put aside is kept of the last hundred commands, whatever they are called", async () => {
  for (let n = 0; n < 101; n += 1) {
    await put(`.parley/held/old${n}/x`);
    await utimes(at(`.parley/held/old${n}`), 1_000 + n, 1_000 + n);
  }
  const quiet = await watchSandboxed(request(), true);
  await quiet.end();
  expect((await readdir(at(".parley/held"))).length).toBe(101);
  const watched = await watchSandboxed(request(), true);
  await put(".x");
  await watched.end();
  const left = await readdir(at(".parley/held"));
  expect([
    left.length,
    left.includes("old0"),
    left.includes("old1"),
    left.includes("old2"),
    left.includes("w2"),
  ]).toEqual([100, false, false, true, true]);
});

test("one command at a time may write where mounts go by name, until the other is over", async () => {
  const othersNote = "the workspace was read-only for it, because another command runs in it";
  const first = await watchSandboxed(request(), true);
  const second = await watchSandboxed(request(), true);
  const byNumber = await watchSandboxed(request(), false);
  expect([first, second, byNumber].map(({ note, view }) => [note, view.all])).toEqual([
    [null, false],
    [othersNote, true],
    [null, false],
  ]);
  await first.end();
  await second.end();
  expect((await watchSandboxed(request(), true)).note).toBe(othersNote);
  await byNumber.end();
  const elsewhere = await realpath(await mkdtemp(join(tmpdir(), "parley-watch-")));
  const apart = await watchSandboxed(request({ root: elsewhere }), true);
  expect(apart.note).toBe(null);
  await apart.end();
  await rm(elsewhere, { recursive: true });
});

test("where Parley's own folder is a file nothing begins, and the next one may write again", async () => {
  await put(".parley");
  const failed = await watchSandboxed(request(), true).catch((error: unknown) => error);
  expect([isFault(failed, "invalid"), String((failed as Error).message)]).toEqual([
    true,
    ".parley in the workspace is not a folder; remove it, because Parley keeps its own files there",
  ]);
  await rm(at(".parley"));
  const next = await watchSandboxed(request(), true);
  expect(next.note).toBe(null);
  await next.end();
});

test("more settings than can be guarded are a workspace that nothing is written in", async () => {
  await put(...Array.from({ length: 251 }, (_, n) => `m${n}/.env`));
  const watched = await watchSandboxed(request(), true);
  expect([watched.view.all, watched.note]).toEqual([
    true,
    "the workspace was read-only for it: it holds more settings (names with a dot) or more files than can be guarded, or a folder whose name is not UTF-8",
  ]);
  await watched.end();
});

test("what Parley makes while a command runs is nobody's, also in a folder that was not there", async () => {
  const watched = await watchSandboxed(request(), true);
  await put("memory/ours.md", "memory/theirs.md", "memory/deep/theirs.md", "USER.md");
  await origins.writing(root, "memory/ours.md", hash("memory/ours.md"), null);
  await origins.made(root, "USER.md");
  const told = await watched.end();
  expect(told).not.toContain("ours.md");
  expect(told.match(/memory\/(?:deep\/)?theirs\.md \(now/g)?.toSorted()).toEqual([
    "memory/deep/theirs.md (now",
    "memory/theirs.md (now",
  ]);
  expect([(await readdir(at("memory"))).toSorted(), await readdir(at("memory/deep"))]).toEqual([
    ["deep", "ours.md"],
    [],
  ]);
  expect(await readFile(at("USER.md"), "utf8")).toBe("USER.md");
});

test("on the host a command is the author of each prompt that it changed or made, and of no other file", async () => {
  await put("SOUL.md", "AGENTS.md", "memory/a.md", "memory/b.md", "notes/n.md", "free.md");
  const watched = await watchOnHost(request());
  expect([watched.note, watched.view]).toEqual([null, { readOnly: [], masked: [], all: false }]);
  for (const path of ["SOUL.md", "memory/b.md", "notes/n.md", "free.md"])
    await writeFile(at(path), "changed");
  await put("memory/new.md", "skills/x/SKILL.md", ".env", "memory/plain.txt", "USER.md");
  await rm(at("AGENTS.md"));
  await origins.writing(root, "USER.md", hash("USER.md"), null);
  expect(await watched.end()).toBe("");
  expect(Object.fromEntries(origins.files)).toEqual({
    "SOUL.md": { sha256: hash("changed"), origin },
    "memory/b.md": { sha256: hash("changed"), origin },
    "notes/n.md": { sha256: hash("changed"), origin },
    "memory/new.md": { sha256: hash("memory/new.md"), origin },
    "skills/x/SKILL.md": { sha256: hash("skills/x/SKILL.md"), origin },
  });
  expect(origins.watches.size).toBe(0);
  // Nothing is put aside: it is no sandbox. A watch that somebody else ended is over.
  expect((await readdir(root)).includes(".env")).toBe(true);
  expect(await watched.end()).toBe("");
  const unwatched = await watchOnHost(request({ origins: undefined }));
  await put("HEARTBEAT.md");
  expect([await unwatched.end(), origins.files.has("HEARTBEAT.md")]).toEqual(["", false]);
});

test("a watch of a process that died ends as it would have, by what it had written down", async () => {
  await put("SOUL.md", ".env");
  const { guarded } = await scanGuarded({ root, alsoPrompt: [], hidden: [] });
  const watch: Watch = {
    id: "dead",
    root,
    origin,
    alsoPrompt: [],
    guarded: Object.fromEntries(guarded),
    prompts: { "SOUL.md": hash("before") },
    made: { "USER.md": hash("USER.md") },
  };
  await put("USER.md", ".bashrc");
  expect(await endWatch(watch, [], origins)).toBe(`${asideText}.bashrc (now .parley/held/dead/1-bashrc)`);
  expect(Object.fromEntries(origins.files)).toEqual({ "SOUL.md": { sha256: hash("SOUL.md"), origin } });
  const older = (path: string, sha256: string): boolean => isOlder(watch, { path, sha256 });
  expect([
    older("SOUL.md", hash("before")),
    older("SOUL.md", hash("after")),
    older("USER.md", hash("USER.md")),
    older("USER.md", hash("x")),
    older("free.md", "x"),
    isOlder({ ...watch, alsoPrompt: ["free.md"] }, { path: "free.md", sha256: "x" }),
  ]).toEqual([true, false, true, false, true, false]);
});

test("a folder of a sandbox alone guards Parley's own; one that is only read hides what has another name", async () => {
  const scratch = await watchScratch(root);
  expect([scratch.note, scratch.view, await scratch.end()]).toEqual([
    null,
    { readOnly: [".parley"], masked: [], all: false },
    "",
  ]);
  expect((await stat(at(".parley"))).isDirectory()).toBe(true);
  await put("SOUL.md", "hidden/x");
  const outside = await mkdtemp(join(tmpdir(), "parley-watch-"));
  await put("linked");
  await link(at("linked"), join(outside, "other"));
  await link(at("hidden/x"), join(outside, "hidden"));
  const reader = await watchReader(request({ hidden: [at("hidden")] }));
  expect([reader.note, reader.view, await reader.end()]).toEqual([
    null,
    { readOnly: [], masked: ["linked"], all: false },
    "",
  ]);
  await rm(outside, { recursive: true });
});

test("after a command a file of its loses what it lends of its owner's rights, outside guarded places alone", async () => {
  await put("a", "node_modules/x/b", "plain");
  for (const path of ["a", "node_modules/x/b"]) await chmod(at(path), 0o6755);
  await chmod(at("plain"), 0o751);
  const modes = async (): Promise<readonly number[]> =>
    Promise.all(["a", "node_modules/x/b", "plain"].map(async (path) => (await stat(at(path))).mode & 0o7777));
  const request = { root, alsoPrompt: [], hidden: [] };
  await scanGuarded(request);
  expect(await modes()).toEqual([0o6755, 0o6755, 0o751]);
  await scanGuarded({ ...request, before: {} });
  expect(await modes()).toEqual([0o755, 0o755, 0o751]);
  expect([foldersOf("a"), foldersOf("a/b/c")]).toEqual([[], ["a", "a/b"]]);
});
