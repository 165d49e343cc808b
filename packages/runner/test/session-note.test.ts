// The note that a conversation leaves when it ends: its name, who said what, how much of it, and that it
// stands there once. Entries and rows are a test's, the notes real files.
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noRedaction } from "@parley/agent";
import { formatRowPayload, type SessionKey } from "@parley/protocol";
import { directMessage, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { keepConversation } from "../src/hooks/session-note.ts";
import { noteHistory } from "../src/memory/note-history.ts";
import { stampOf } from "../src/memory/provenance.ts";
import { memoryStore } from "./store.ts";

const key = "agent:main:telegram:dm:5" as SessionKey;

type Line = readonly [who: string, text: string, more?: object];

async function setUp() {
  const workspace = await mkdtemp(join(tmpdir(), "parley-note-"));
  onTestFinished(() => rm(workspace, { recursive: true, force: true }));
  const clock = virtualClock();
  const store = await memoryStore(clock);
  const asked: unknown[] = [];
  /** Who: "agent", a person's name, or "task" for a row of Parley's own. */
  async function keep(
    said: readonly Line[],
    { most = 15, owner = true, ...more }: { most?: number; owner?: boolean; [field: string]: unknown } = {},
  ) {
    const rows = new Map<string, object>();
    const entries = said.map(([who, text, extra = {}], at) => {
      if (who === "agent")
        return {
          type: "assistant",
          content: [{ type: "text", text }],
          model: "a/b",
          stop: "stop",
          usage: {},
          atMs: 0,
        };
      const id = `r${at}`;
      const inbound = directMessage({ id, text, sender: { id: who === "" ? "8" : who, name: who } });
      const internal = who === "task" ? { internal: { kind: "task", id: "x", turn: "" } } : {};
      rows.set(id, {
        id,
        authority: owner ? "owner" : "member",
        payload: formatRowPayload({ v: 1, inbound, owner, ...internal } as never),
      });
      return {
        type: "user",
        rows: [id],
        content: [{ type: "text", text: `[from ${who}] ${text}` }],
        atMs: 0,
        ...extra,
      };
    });
    const path = await keepConversation(
      {
        sessions: {
          transcript: async (...given: readonly unknown[]) => (
            asked.push(given),
            entries.map((entry, seq) => ({ seq, body: JSON.stringify(entry) }))
          ),
        } as never,
        inbox: {
          find: async ({ id }: { id?: string }) => [rows.get(id ?? "")].filter((row) => row !== undefined),
        } as never,
        cells: store.cells,
        redaction: { ...noRedaction, secrets: ["hunter2-hunter2"] },
        origins: undefined,
        clock,
      },
      {
        key,
        epoch: 1,
        agent: "main",
        workspace,
        timeZone: "Europe/Berlin",
        endedAtMs: Date.UTC(2026, 5, 1, 22, 30),
        by: "/new",
        ...more,
      } as never,
      most,
    );
    return { path, text: path === null ? "" : await readFile(join(workspace, path), "utf8") };
  }
  const lines = (text: string) =>
    text
      .split("## What was said last\n")[1]
      ?.trim()
      .split("\n")
      .map((line) => line.replace(/ <!--.*/, "")) ?? [];
  return { workspace, asked, keep, lines, cells: store.cells, clock };
}

test("it is named by the day where its people are and the first words of a person that are no command", async () => {
  const { keep, asked } = await setUp();
  const { path, text } = await keep([
    ["agent", "Good evening"],
    ["Olga", "/model fast"],
    ["Olga", "The boiler: the MAN comes on Friday, at nine"],
  ]);
  expect(path).toBe("memory/2026-06-02-the-boiler-the-man-comes-on.md");
  expect(text).toContain("# Conversation until 2026-06-02 00:30\n");
  expect(text).toContain(`- Session: ${key}, conversation 1\n- Ended by: /new\n`);
  expect(asked).toEqual([[key, { epoch: 1, newest: true, limit: 400 }]]);
  expect(
    (
      await keep(
        [
          ["Olga", "/new"],
          ["agent", "hi"],
        ],
        { epoch: 2 },
      )
    ).path,
  ).toBe("memory/2026-06-02-0030.md");
  expect((await keep([["Olga", "../../etc/passwd"]], { epoch: 3 })).path).toBe(
    "memory/2026-06-02-etc-passwd.md",
  );
  expect((await keep([["Olga", `${"x".repeat(39)} yy`]], { epoch: 4 })).path).toBe(
    `memory/2026-06-02-${"x".repeat(39)}.md`,
  );
});

test("it says who said what, in one line each, the newest of it, and nothing that Parley wrote", async () => {
  const { keep, lines } = await setUp();
  const { text } = await keep(
    [
      ["Olga", "too old"],
      ["Olga", "first\nin two lines, code hunter2-hunter2"],
      ["task", "a sub-agent's result"],
      ["", "of somebody without a name"],
      ["Olga", "  "],
      ["agent", " \n"],
      ["agent", "x".repeat(700)],
    ],
    { most: 3 },
  );
  const said = lines(text);
  expect(said).toHaveLength(3);
  expect(said[0]).toMatch(/^- Olga: first in two lines, code /);
  expect(said[1]).toBe("- user: of somebody without a name");
  expect(said[2]).toMatch(/^- assistant: x{599,600}…$/);
  expect(text).not.toMatch(/too old|sub-agent|hunter2/);
});

test("what does not fit a note is left out from its beginning", async () => {
  const { keep, lines } = await setUp();
  const { text } = await keep(
    Array.from({ length: 30 }, (_, at): Line => [
      "Olga",
      `${String(at).padStart(2, "0")} ${"y".repeat(500)}`,
    ]),
    { most: 30 },
  );
  const said = lines(text);
  expect(said.at(-1)).toMatch(/^- Olga: 29 /);
  expect(said.length).toBeGreaterThan(10);
  expect(said[0]).toMatch(new RegExp(`^- Olga: ${30 - said.length} `));
  const plain = text.replaceAll(/ ?<!--.*?-->/g, "");
  // Each line has 512 characters and its end.
  const [head = ""] = plain.split("- Olga: ");
  expect(said.length).toBe(Math.floor((7_500 - head.length) / 513));
});

test("the same conversation is kept once; another of its words and day stands beside it, also where only digits differ", async () => {
  const { workspace, keep } = await setUp();
  const said: readonly Line[] = [["Olga", "the boiler"]];
  const first = await keep(said, { epoch: 12 });
  expect((await keep(said, { epoch: 12 })).path).toBeNull();
  const second = await keep(said, { epoch: 1 });
  expect(second.path).toBe(first.path);
  expect(second.text.match(/conversation (?:12|1)\n/g)).toHaveLength(2);
  expect((await keep(said, { epoch: 1 })).path).toBeNull();
  expect((await readdir(join(workspace, "memory"))).filter((name) => name.endsWith(".md"))).toHaveLength(1);
});

test("where only the agent or Parley spoke nothing is kept", async () => {
  const { workspace, keep } = await setUp();
  expect((await keep([["agent", "anybody?"]])).path).toBeNull();
  expect(
    (
      await keep([
        ["task", "a result"],
        ["agent", "noted"],
      ])
    ).path,
  ).toBeNull();
  expect((await keep([])).path).toBeNull();
  expect(existsSync(join(workspace, "memory"))).toBe(false);
});

test("of a conversation with somebody else the note stands in a folder of its session", async () => {
  const { keep } = await setUp();
  const { path, text } = await keep([["Bob", "hello there"]], { owner: false });
  expect(path).toMatch(/^memory\/sessions\/[\da-f]{16}\/2026-06-02-hello-there\.md$/);
  expect(text).toMatch(/^\[Notes on talk with .*not an owner/);
});

test("letters of one look are one in its name, which has six words and forty letters at most", async () => {
  const { keep } = await setUp();
  const names: (string | null)[] = [];
  for (const [epoch, words] of [
    "ＦＵＬＬ width ①",
    "a b c d e f g",
    `${"x".repeat(41)} y`,
    "Über Größe",
  ].entries())
    names.push((await keep([["Olga", words]], { epoch: epoch + 10 })).path);
  expect(names).toEqual([
    "memory/2026-06-02-full-width-1.md",
    "memory/2026-06-02-a-b-c-d-e-f.md",
    `memory/2026-06-02-${"x".repeat(40)}.md`,
    "memory/2026-06-02-über-größe.md",
  ]);
});

test("its lines are stamped with the people and kept in the history; the first strangers' text that was read marks them", async () => {
  const { keep, cells, clock } = await setUp();
  const { path } = await keep([
    ["Olga", "the boiler"],
    ["Bob", "yes", { untrusted: "a.example" }],
    ["Olga", "then", { untrusted: "b.example" }],
    ["task", "of Parley's own"],
  ]);
  const from = { session: key, turn: "", by: ["telegram:Olga", "telegram:Bob"], tool: "session-memory" };
  expect(await stampOf(cells, "main", "Olga: the boiler")).toEqual({
    ...from,
    atMs: clock.now(),
    untrusted: "a.example",
  });
  expect(await noteHistory({ cells, clock }).list("main", 9)).toMatchObject([
    { ...from, path, removed: "", before: null, added: expect.stringContaining("- Bob: yes") },
  ]);
});

test("what a person said whose row is gone is told as the conversation has it", async () => {
  const { keep, lines } = await setUp();
  const { path, text } = await keep([
    ["Olga", "one", { rows: [] }],
    ["Olga", "two", { rows: ["gone"] }],
    ["Olga", "three", { rows: [], content: [{ type: "text", text: " " }] }],
  ]);
  expect(lines(text)).toEqual(["- user: [from Olga] one", "- user: [from Olga] two"]);
  expect(path).toMatch(/from-olga-one\.md$/);
});
