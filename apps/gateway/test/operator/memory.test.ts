// What the operator is shown of the notes: the line that was asked for, who wrote it, and which change is
// taken back.
import { createHash } from "node:crypto";
import type { MemoryEngine } from "@parley/memory";
import { noteHistory, restoreMarks } from "@parley/runner";
import { virtualClock } from "@parley/testkit";
import { beforeEach, expect, test } from "vitest";
import { forgetMethods, memoryMethods } from "../../src/operator/agent/memory.ts";
import { memoryStore } from "../receive/store.ts";

const files: { readonly [path: string]: readonly string[] } = {
  "MEMORY.md": ["# Notes", "- tea at nine", "- the ferry is free", "- Bob is tall", "- tea at ten"],
  "memory/2026-01-01.md": ["- rain all day", "- Eve called"],
};
const agents = ["main", "other"].map((id) => ({
  id,
  workspace: `/w/${id}`,
  memorySearch: { enabled: true, embedder: null, sources: [] },
}));

let asked: unknown[];
/** What taking a change back makes of its note. */
let undone: { readonly before: string | null; readonly after: string | null };
beforeEach(() => {
  asked = [];
  undone = { before: "b\n", after: "a\n" };
});

async function methods() {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  const memory: Pick<MemoryEngine, "get" | "forget" | "undo"> = {
    get: async ({ workspace }, { path, from, lines, scopes }) => {
      asked.push([workspace, path, scopes]);
      const text = (files[path] ?? []).slice(from - 1, from - 1 + lines).join("\n");
      return { path, text } as never;
    },
    forget: async ({ workspace }, { query, write }) => {
      asked.push([workspace, query, write]);
      const lines = Object.entries(files).flatMap(([path, all]) =>
        all.flatMap((text, at) => (text.includes(String(query)) ? [{ path, line: at + 1, text }] : [])),
      );
      return { lines, notes: [] } as never;
    },
    undo: async (_target, change) => {
      asked.push(change.path);
      return undone;
    },
  };
  const handlers = forgetMethods({
    config: { agents: { list: agents } } as never,
    memory: memory as MemoryEngine,
    store,
    home: "/h",
    clock,
  } as never);
  const why = async (line: string, agent?: string) =>
    (await handlers["memory.why"]({ line, agent } as never)).lines;
  return { handlers, why, store, clock };
}

test("a line is named by its file and number, in every form in which it is shown", async () => {
  const { why } = await methods();
  for (const [form, wanted] of [
    ["MEMORY.md#2", ["MEMORY.md", 2, "- tea at nine"]],
    ["MEMORY.md#L3", ["MEMORY.md", 3, "- the ferry is free"]],
    ["MEMORY.md#3-5", ["MEMORY.md", 3, "- the ferry is free"]],
    ["MEMORY.md#L4-L5", ["MEMORY.md", 4, "- Bob is tall"]],
    ["  memory/2026-01-01.md#1 ", ["memory/2026-01-01.md", 1, "- rain all day"]],
    ["MEMORY.md#5", ["MEMORY.md", 5, "- tea at ten"]],
  ] as const) {
    const lines = await why(form);
    expect(
      lines.map(({ path, line, text }) => [path, line, text]),
      form,
    ).toEqual([wanted]);
  }
  expect(asked[0]).toEqual(["/w/main", "MEMORY.md", "all"]);
  await why("MEMORY.md#1", "other");
  expect(asked.at(-1)).toEqual(["/w/other", "MEMORY.md", "all"]);
});

test("words name every line that has them, ten at most, and nothing is forgotten by asking", async () => {
  const { why } = await methods();
  expect((await why("tea")).map(({ path, line }) => `${path}:${line}`)).toEqual([
    "MEMORY.md:2",
    "MEMORY.md:5",
  ]);
  expect(asked).toEqual([["/w/main", "tea", false]]);
  expect(await why("MEMORY.md")).toEqual([]);
  expect(await why("notes.txt#3")).toEqual([]);
});

test("each line is told with the turn that wrote it, of this agent's notes alone", async () => {
  const { why, store } = await methods();
  const from = { session: "s", turn: "t#1", by: ["telegram:7"], atMs: 5, tool: "write" };
  /** As the runner stamps a line, without its list mark. */
  const stamp = async (agent: string, words: string, turn = "t#1"): Promise<void> => {
    const mark = createHash("sha256").update(words).digest("hex").slice(0, 32);
    await store.cells.put(`memory-note:${agent}:${mark}`, JSON.stringify({ ...from, turn }), {});
  };
  await stamp("main", "tea at nine");
  await stamp("main", "Eve called");
  await stamp("other", "tea at ten", "t#2");
  const turns = async (line: string, agent?: string) =>
    (await why(line, agent)).map(({ line: at, writtenBy }) => [at, ...writtenBy.map(({ turn }) => turn)]);
  expect(await turns("tea")).toEqual([[2, "t#1"], [5]]);
  expect(await turns("MEMORY.md#5", "other")).toEqual([[5, "t#2"]]);
  expect((await why("memory/2026-01-01.md#2"))[0]?.writtenBy).toEqual([from]);
});

test("changes are listed newest first, of one file where it is named, and the newest open one is taken back", async () => {
  const { handlers, store, clock } = await methods();
  const history = noteHistory({ cells: store.cells, clock });
  const change = async (path: string, tool = "write", agent = "main"): Promise<string> => {
    await clock.advance(1_000);
    await history.record(
      agent,
      { path, session: "s", turn: "t", by: ["telegram:7"], tool },
      null,
      `${path}\n`,
    );
    return (await history.list(agent, 1))[0]?.id ?? "";
  };
  const ids = [await change("a.md"), await change("b.md"), await change("a.md", "undo")];
  await change("c.md", "write", "other");
  const list = async (more: object = {}) =>
    (await handlers["memory.history"](more as never)).changes.map(({ id }) => id);
  expect(await list()).toEqual(ids.toReversed());
  expect(await list({ path: "a.md" })).toEqual([ids[2], ids[0]]);
  expect(await list({ path: "a.md", limit: 1 })).toEqual([ids[2]]);
  expect(await list({ limit: 2 })).toEqual([ids[2], ids[1]]);
  for (let n = 0; n < 25; n += 1) await change(`many-${n}.md`, "write", "other");
  expect(await list({ agent: "other" })).toHaveLength(20);
  expect(await list({ agent: "other", limit: 26 })).toHaveLength(26);
  // One file's changes are looked for behind all those of others.
  expect(await list({ agent: "other", path: "many-0.md" })).toHaveLength(1);
  expect(await list({ agent: "other", path: "c.md", limit: 1 })).toHaveLength(1);
  const [shown] = (await handlers["memory.history"]({ path: "b.md" } as never)).changes;
  expect(Object.keys(shown ?? {}).toSorted()).toEqual([
    "added",
    "atMs",
    "by",
    "id",
    "path",
    "removed",
    "session",
    "tool",
    "turn",
  ]);

  expect(shown).toMatchObject({
    id: ids[1],
    path: "b.md",
    session: "s",
    turn: "t",
    by: ["telegram:7"],
    tool: "write",
    removed: "",
    added: "b.md\n",
    atMs: Number(ids[1]?.split("-")[0]),
  });

  const undo = (id?: string) => handlers["memory.undo"]({ id } as never);
  expect(await undo()).toEqual({ agent: "main", id: ids[1], path: "b.md", changed: true });
  const [taken] = await history.list("main", 1);
  expect(taken).toMatchObject({ path: "b.md", tool: "undo", by: [], removed: "b\n", added: "a\n" });
  expect(await undo()).toMatchObject({ id: ids[0] });
  expect(asked).toEqual(["b.md", "a.md"]);
  await expect(undo()).rejects.toThrow("no turn changed a note that is not undone");
  expect(await undo(ids[2])).toMatchObject({ id: ids[2], path: "a.md" });
  await expect(undo("x")).rejects.toThrow('there is no change x; "parley memory history" lists them');
  // A change that was taken back says since when; another agent's newest is its own.
  const [back] = (await handlers["memory.history"]({ path: "b.md", limit: 9 } as never)).changes.slice(-1);
  expect([back?.id, back?.undoneAtMs]).toEqual([ids[1], clock.now()]);
  const undoOther = handlers["memory.undo"]({ agent: "other" } as never);
  expect(await undoOther).toMatchObject({ agent: "other", path: "many-24.md" });
  expect(await handlers["memory.history"]({ agent: "other", limit: 2 } as never)).toMatchObject({
    agent: "other",
    changes: [
      { tool: "undo", path: "many-24.md" },
      { tool: "write", path: "many-24.md" },
    ],
  });
});

test("taking a change back marks the lines that strangers had a hand in anew, and says where nothing changed by it", async () => {
  const { handlers, store, clock } = await methods();
  const history = noteHistory({ cells: store.cells, clock });
  await history.record("main", { path: "a.md", session: "s", turn: "t", by: [], tool: "write" }, null, "a\n");
  const mark = createHash("sha256").update("a").digest("hex").slice(0, 32);
  const stamp = { session: "s", turn: "t", by: [], atMs: 5, tool: "write", untrusted: "a page" };
  await store.cells.put(`memory-note:main:${mark}`, JSON.stringify(stamp), {});
  const marks = async (): Promise<string> =>
    (await store.cells.list("memory-untrusted:", 9)).map(({ value }) => value).join();
  expect(await marks()).not.toContain("a page");
  undone = { before: "a\n", after: "a\n" };
  expect(await handlers["memory.undo"]({} as never)).toMatchObject({ path: "a.md", changed: false });
  expect((await store.cells.list("memory", 99)).map(({ value }) => value).join()).toMatch(/a page[^]*a page/);
});

test("notes are searched for all scopes, not what was forgotten last; told with what could not be looked through", async () => {
  const store = await memoryStore(virtualClock());
  await store.cells.put("memory-last-forgotten:other", "77", {});
  // Strangers had a hand in this line of the other agent's notes.
  const mark = createHash("sha256").update("tea").digest("hex").slice(0, 32);
  const stamp = { session: "s", turn: "t", by: [], atMs: 5, tool: "write", untrusted: "a page" };
  await store.cells.put(`memory-note:other:${mark}`, JSON.stringify(stamp), {});
  await restoreMarks(store.cells, "other", "/w/other", "MEMORY.md", "tea");
  const searched: unknown[] = [];
  const { "memory.search": search } = forgetMethods({
    config: {
      agents: {
        list: agents.map((each) => ({
          ...each,
          memorySearch: { query: {}, sync: {}, ...each.memorySearch },
        })),
      },
    },
    memory: {
      search: async (target: object, request: object) => {
        searched.push([target, request]);
        return {
          hits: [{ source: "memory", path: "MEMORY.md", snippet: "tea" }],
          mode: "words",
          notes: ["n1"],
        };
      },
    },
    talk: { upToDate: async (id: string) => [`talk of ${id}`] },
    store,
    home: "/h",
    clock: virtualClock({ startMs: 5 }),
  } as never);
  expect(await search({ agent: "other", query: "tea", maxResults: 3 } as never)).toEqual({
    agent: "other",
    mode: "words",
    notes: ["n1", "talk of other"],
    results: [{ source: "memory", path: "MEMORY.md", snippet: "tea", untrusted: "a page" }],
  });
  expect(searched).toMatchObject([
    [{ workspace: "/w/other" }, { query: "tea", scopes: "all", nowMs: 5, forgottenMs: 77 }],
  ]);
  expect(searched).toMatchObject([[{}, { maxResults: 3 }]]);
  await search({ query: "tea", maxResults: 4, minScore: 0.5 } as never);
  expect(searched.splice(1)).toMatchObject([[{ workspace: "/w/main" }, { maxResults: 4, minScore: 0.5 }]]);
  expect((await search({ query: "tea" } as never)).results).toEqual([
    { source: "memory", path: "MEMORY.md", snippet: "tea" },
  ]);
  expect(searched[1]).toMatchObject([{ workspace: "/w/main" }, { query: "tea" }]);
  expect(JSON.stringify(searched[1])).not.toContain("forgottenMs");
});

test("proposals are listed, of one agent where it is named, and decided in the operator's name", async () => {
  const did: unknown[] = [];
  const proposal = (id: string, agent: string, more: object = {}) => ({
    id,
    agent,
    session: "s",
    turn: "t",
    state: "open",
    createdAtMs: 1,
    expiresAtMs: 2,
    changes: [
      { kind: "drop", lines: [{ path: "a.md", line: 3, text: "x" }], text: null, why: "old", card: "c" },
    ],
    conversation: "not told",
    ...more,
  });
  const methods = forgetMethods({
    config: { agents: { list: agents } },
    upkeep: {
      list: async () => [
        proposal("p1", "main"),
        proposal("p2", "other", {
          session: "s2",
          turn: "t2",
          state: "refused",
          createdAtMs: 21,
          expiresAtMs: 22,
          by: { person: "telegram:7", name: "Eve" },
          changes: [
            {
              kind: "merge",
              lines: [
                { path: "b.md", line: 4, text: "y" },
                { path: "c.md", line: 5, text: "z" },
              ],
              text: "yz",
              why: "alike",
              untrusted: "a page",
            },
            { kind: "drop", lines: [], text: null, why: "" },
          ],
        }),
      ],
      accept: async (...what: readonly unknown[]) => (did.push(["accept", ...what]), "accepted."),
      refuse: async (...what: readonly unknown[]) => (did.push(["refuse", ...what]), "refused."),
    },
    forgetting: {
      forget: async (...what: readonly unknown[]) => (
        did.push(["forget", ...what]),
        { lines: [{ path: "a.md", line: 1, text: "x" }], history: 4, notes: ["n"] }
      ),
    },
  } as never);
  const { proposals } = await methods["memory.proposals"]({});
  expect(proposals).toEqual([
    {
      id: "p1",
      agent: "main",
      session: "s",
      turn: "t",
      state: "open",
      createdAtMs: 1,
      expiresAtMs: 2,
      said: "nobody has decided yet.",
      changes: [{ kind: "drop", lines: [{ path: "a.md", line: 3, text: "x" }], text: null, why: "old" }],
    },
    {
      id: "p2",
      agent: "other",
      session: "s2",
      turn: "t2",
      state: "refused",
      createdAtMs: 21,
      expiresAtMs: 22,
      by: "telegram:7",
      said: "refused by Eve; nothing was changed.",
      changes: [
        {
          kind: "merge",
          lines: [
            { path: "b.md", line: 4, text: "y" },
            { path: "c.md", line: 5, text: "z" },
          ],
          text: "yz",
          why: "alike",
          untrusted: "a page",
        },
        { kind: "drop", lines: [], text: null, why: "" },
      ],
    },
  ]);
  expect((await methods["memory.proposals"]({ agent: "other" })).proposals.map(({ id }) => id)).toEqual([
    "p2",
  ]);
  const by = { person: "web:operator", name: "the operator", owner: true };
  expect(await methods["memory.decide"]({ id: "p1", decision: "accept", changes: [2] })).toEqual({
    id: "p1",
    said: "accepted.",
  });
  expect(await methods["memory.decide"]({ id: "p1", decision: "refuse" })).toEqual({
    id: "p1",
    said: "refused.",
  });
  expect(await methods["memory.forget"]({ query: "x" })).toEqual({
    agent: "main",
    done: false,
    lines: [{ path: "a.md", line: 1, text: "x" }],
    history: 4,
    notes: ["n"],
  });
  expect(await methods["memory.forget"]({ agent: "other", query: "x", confirm: true })).toMatchObject({
    agent: "other",
    done: true,
  });
  expect(did).toEqual([
    ["accept", "p1", by, [2]],
    ["refuse", "p1", by],
    ["forget", "main", "x", false],
    ["forget", "other", "x", true],
  ]);
});

test("the index of each agent is told in turn, of one where it is named; a note is read from its beginning for 120 lines", async () => {
  const did: unknown[] = [];
  const index =
    (what: string) =>
    async ({ workspace }: { readonly workspace: string }) => (
      did.push([what, workspace]),
      { files: 1, problems: ["p"], notes: ["n"] }
    );
  const methods = memoryMethods({
    config: {
      agents: {
        list: [
          agents[0],
          {
            ...agents[1],
            memorySearch: { enabled: false, embedder: { provider: "lab", model: "m" }, sources: [] },
          },
        ],
      },
    },
    memory: {
      status: index("status"),
      reindex: index("reindex"),
      get: async (_target: object, what: object) => what,
    },
    home: "/h",
  } as never);
  const shown = { files: 1, problems: ["p"], notes: ["n"] };
  const main = {
    agent: "main",
    enabled: true,
    workspace: "/w/main",
    provider: "none",
    model: null,
    ...shown,
  };
  const other = {
    agent: "other",
    enabled: false,
    workspace: "/w/other",
    provider: "lab",
    model: "m",
    ...shown,
  };
  expect(await methods["memory.status"]({})).toEqual({ agents: [main, other] });
  expect(await methods["memory.reindex"]({ agent: "other" })).toEqual({ agents: [other] });
  expect(did).toEqual([
    ["status", "/w/main"],
    ["status", "/w/other"],
    ["reindex", "/w/other"],
  ]);
  expect(await methods["memory.get"]({ path: "a.md" })).toEqual({
    path: "a.md",
    from: 1,
    lines: 120,
    maxChars: 200_000,
    scopes: "all",
  });
});
