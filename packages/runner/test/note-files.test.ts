// The notes as files: what a tool writes there is checked, stamped, marked and kept in the history.
import { noRedaction } from "@parley/agent";
import { personFolder, scopeOfPlace } from "@parley/memory";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { noteFiles } from "../src/memory/note-files.ts";
import { noteHistory } from "../src/memory/note-history.ts";
import { stampOf } from "../src/memory/provenance.ts";
import { memoryStore } from "./store.ts";

const scope = {
  agent: "main",
  session: "agent:main:telegram:dm:7",
  conversation: "telegram:default:dm:7",
  turn: "t#1",
  workspace: "/w",
  by: { owner: false, senders: ["telegram:7", "telegram:8"] },
};

async function setUp() {
  const clock = virtualClock({ startMs: 5_000 });
  const { cells, close } = await memoryStore(clock);
  onTestFinished(() => close());
  const files = noteFiles({
    memory: { personFolder, scopeOfPlace } as never,
    owners: async () => ["telegram:1"],
    cells,
    redaction: { ...noRedaction, secrets: ["hunter2-hunter2"] },
    clock,
  });
  return { clock, cells, files };
}

test("a line that came is stamped with its turn and people, kept in the history, and marked where strangers were read", async () => {
  const { clock, cells, files } = await setUp();
  const written = { path: "MEMORY.md", before: "- old\r\n- gone", after: "- old\r\n- new\n", tool: "edit" };
  await files.writing({ ...scope, untrusted: "a.example" } as never, written);
  const stamp = {
    session: scope.session,
    turn: "t#1",
    by: ["telegram:7", "telegram:8"],
    atMs: 5_000,
    tool: "edit",
  };
  expect(await stampOf(cells, "main", "- new")).toEqual({ ...stamp, untrusted: "a.example" });
  expect([await stampOf(cells, "main", "- old"), await stampOf(cells, "main", "- gone")]).toEqual([
    null,
    null,
  ]);
  const { atMs: _atMs, ...from } = stamp;
  expect(await noteHistory({ cells, clock }).list("main", 9)).toMatchObject([
    { path: "MEMORY.md", ...from, atMs: 5_000, at: 7, removed: "- gone", added: "- new\n" },
  ]);
  const said = (path: string, text: string, workspace = "/w") =>
    files.untrusted({ workspace } as never, path, text);
  expect(await Promise.all([said("MEMORY.md", "- old\n- new"), said("MEMORY.md", "- old")])).toEqual([
    "a.example",
    null,
  ]);
  expect(await said("MEMORY.md", "- new", "/other")).toBeNull();
  // What the turn reads after that is not a stranger's where it read none.
  await files.writing(scope as never, {
    path: "memory/shared/a.md",
    before: null,
    after: "- mine",
    tool: "write",
  });
  expect([
    await said("memory/shared/a.md", "- mine"),
    (await stampOf(cells, "main", "mine"))?.untrusted,
  ]).toEqual([null, undefined]);
  await files.writing(scope as never, {
    path: "memory/shared/a.md",
    before: "- mine",
    after: null,
    tool: "write",
  });
  expect((await noteHistory({ cells, clock }).list("main", 9))[0]).toMatchObject({
    removed: "- mine",
    after: null,
  });
});

test("a secret in what comes is refused before anything is kept; one that stood there already, and other files, are not", async () => {
  const { cells, files } = await setUp();
  const secret = "- key hunter2-hunter2";
  await expect(
    files.writing(scope as never, {
      path: "MEMORY.md",
      before: "- a",
      after: `- a\n${secret}`,
      tool: "write",
    }),
  ).rejects.toMatchObject({
    code: "denied",
    message: "MEMORY.md would hold a key or password that Parley knows; note it without",
  });
  await files.writing(scope as never, { path: "src/a.md", before: null, after: secret, tool: "write" });
  expect(await cells.list("memory-", 9)).toEqual([]);
  await files.writing(scope as never, {
    path: "MEMORY.md",
    before: secret,
    after: `${secret}\n- b`,
    tool: "write",
  });
  expect(await stampOf(cells, "main", "b")).not.toBeNull();
});
