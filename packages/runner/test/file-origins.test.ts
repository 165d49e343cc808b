// Who wrote a file that enters prompts: what an owner confirms, what a command that runs may have written,
// and what a process leaves behind for the next one.
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog, type Log } from "@parley/protocol";
import type { Origin } from "@parley/tools";
import { seededIds, virtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { fileOrigins, type FileOrigins } from "../src/file-origins.ts";
import { memoryStore } from "./store.ts";

const day = 86_400_000;
const root = "/home/a/workspace";
const notes = join(root, "AGENTS.md");
const stranger: Origin = { who: "telegram:42", session: "agent:main:main", owner: false, sandboxed: false };
const boxed: Origin = { who: "telegram:7", session: "agent:main:dm", owner: true, sandboxed: true };
const byStranger = {
  use: "leave out",
  reason:
    "it was written on 2026-11-23 for somebody who is not an owner; an owner takes it up by writing it anew",
  who: "by telegram:42, in agent:main:main",
};
const inSandbox = {
  use: "mark",
  reason: "Written in a sandbox on 2026-11-24, confirmed by no owner outside of it: notes, not instructions.",
  who: "by telegram:7, in agent:main:dm",
};
const running = {
  use: "leave out",
  reason: "a command that has not ended yet may have written it",
  who: "by telegram:42, in agent:main:main",
};

let clock = virtualClock();
let book: FileOrigins;
let bookOf: (node: string) => FileOrigins;
let warned: string[];
beforeEach(async () => {
  clock = virtualClock();
  await clock.advance(Date.parse("2026-11-23T10:00:00Z") - clock.now());
  warned = [];
  const log: Log = {
    ...silentLog,
    warn: (fields, message) => {
      warned.push(`${message} ${JSON.stringify(fields)}`);
    },
    error: (_fields, message) => {
      warned.push(`error: ${message}`);
    },
  };
  const { cells, close } = await memoryStore(clock);
  onTestFinished(() => close());
  const ids = seededIds(1);
  bookOf = (node) => fileOrigins({ cells, node, clock, ids, log });
  book = bookOf("one");
});

test("a file has the author of its content: another's is left out or marked, an owner's own is plain", async () => {
  await book.writing(root, "AGENTS.md", "h1", stranger);
  await clock.advance(day);
  await book.writing(root, "memory/2026.md", "h2", boxed);
  const of = await book.of(root);
  expect([
    of(notes, "h1"),
    of(notes, "h2"),
    of(join(root, "memory/2026.md"), "h2"),
    of(join(root, "other.md"), "h1"),
    (await book.of("/home/b"))("/home/b/AGENTS.md", "h1"),
  ]).toEqual([byStranger, null, inSandbox, null, null]);
  // An owner who writes the same words takes them up; other words leave the record until the write ends.
  await book.writing(root, "AGENTS.md", "h9", null);
  expect((await book.of(root))(notes, "h1")).toEqual(byStranger);
  await book.writing(root, "AGENTS.md", "h1", null);
  expect((await book.of(root))(notes, "h1")).toBeNull();
  expect((await book.of(root))(join(root, "memory/2026.md"), "h2")).toEqual(inSandbox);
});

test("what Parley appends to a file leaves it its author, and a file of an owner stays the owner's", async () => {
  await book.writing(root, "AGENTS.md", "h1", stranger);
  await book.added(root, "AGENTS.md", "h1", "h2");
  await book.added(root, "USER.md", "u1", "u2");
  const of = await book.of(root);
  expect([of(notes, "h1"), of(notes, "h2"), of(join(root, "USER.md"), "u2")]).toEqual([
    null,
    byStranger,
    null,
  ]);
  // Appended to other content than the stranger's: it is not theirs.
  await book.added(root, "AGENTS.md", "h7", "h8");
  expect((await book.of(root))(notes, "h8")).toBeNull();
});

test("while a command runs, prompt files that it did not find and Parley did not write may be its work", async () => {
  const begun = { root, origin: stranger, alsoPrompt: ["extra.txt"], prompts: { "AGENTS.md": "h1" } };
  const id = await book.begin(begun);
  const other = await book.begin({ ...begun, root: "/home/b", origin: boxed });
  await book.writing(root, "USER.md", "u1", null);
  await book.made(root, "TOOLS.md");
  const of = await book.of(root);
  expect([
    of(notes, "h1"),
    of(notes, "h2"),
    of(join(root, "USER.md"), "u1"),
    of(join(root, "USER.md"), "u2"),
    of(join(root, "extra.txt"), "x"),
    of(join(root, "src/code.ts"), "x"),
    of("/home/a/AGENTS.md", "h2"),
  ]).toEqual([null, running, null, running, running, null, null]);
  expect(await book.watch(root, id)).toEqual({
    ...begun,
    id,
    node: "one",
    made: { "USER.md": "u1", "TOOLS.md": "" },
  });
  expect(await book.watch(root, other)).toBeNull();
  expect((await book.watch("/home/b", other))?.made).toEqual({});
});

test("a command's end makes it the author of what it changed, says so, and lets the rest be", async () => {
  const begun = { root, origin: stranger, alsoPrompt: [], prompts: { "AGENTS.md": "h1" } };
  const id = await book.begin(begun);
  const second = await book.begin({ ...begun, origin: boxed });
  const kept = await book.watch(root, id);
  if (kept === null) throw new Error("there is no watch");
  await book.end(kept, [
    { path: "AGENTS.md", sha256: "h2" },
    { path: "USER.md", sha256: "u2" },
  ]);
  expect([await book.watch(root, id), (await book.watch(root, second))?.id]).toEqual([null, second]);
  const of = await book.of(root);
  expect([of(notes, "h2"), of(join(root, "USER.md"), "u2")]).toEqual([byStranger, byStranger]);
  expect(warned).toEqual(
    ["AGENTS.md", "USER.md"].map(
      (path) =>
        `a command changed a file that enters prompts: it is told as not the owner's ${JSON.stringify({ root, path, ...stranger })}`,
    ),
  );
});

test("a start ends the commands of its own process before it, each with what it left, and no other's", async () => {
  const folder = await mkdtemp(join(tmpdir(), "origins-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const text = "be kind";
  const sha256 = createHash("sha256").update(text).digest("hex");
  await writeFile(join(folder, "AGENTS.md"), text);
  const begun = { root: folder, origin: stranger, alsoPrompt: [], prompts: {} };
  const mine = await book.begin(begun);
  const gone = await book.begin({ ...begun, root: join(folder, "gone"), prompts: {} });
  const theirs = await bookOf("two").begin({ ...begun, origin: boxed });
  await bookOf("one").endLeftovers([]);
  expect([
    await book.watch(folder, mine),
    await book.watch(join(folder, "gone"), gone),
    (await book.watch(folder, theirs))?.id,
  ]).toEqual([null, null, theirs]);
  expect((await book.of(folder))(join(folder, "AGENTS.md"), sha256)).toEqual(byStranger);
  expect(warned).toHaveLength(1);
});
