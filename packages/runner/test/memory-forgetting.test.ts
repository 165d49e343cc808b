// What is forgotten for good, in which order, and what is told and recorded of it: never a word of it.
import { forgetting } from "@parley/memory";
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { memoryForgetting } from "../src/memory/forget.ts";
import { noteHistory } from "../src/memory/note-history.ts";
import { memoryStore } from "./store.ts";

const outside =
  "copies outside stay: backups, a git history of the workspace, messages on the platforms, what was sent to models";
const line = { path: "MEMORY.md", line: 2, text: "- the shed's code" };

async function setUp({ canRewrite = true, hasMemory = true } = {}) {
  const clock = virtualClock({ startMs: 1_000 });
  const { cells, close } = await memoryStore(clock);
  onTestFinished(() => close());
  const did: unknown[] = [];
  const self = memoryForgetting({
    machine: hasMemory
      ? ({
          home: "/h",
          memory: {
            forgetting,
            engine: {
              forget: async ({ indexPath }: { indexPath: string }, asked: object) => (
                did.push([indexPath, asked]),
                { lines: [line], problems: [{ path: "big.md", reason: "it is too large" }] }
              ),
            },
          },
        } as never)
      : undefined,
    config: {
      agents: {
        list: ["main", "other"].map((id) => ({
          id,
          workspace: `/w/${id}`,
          memorySearch: { chunking: {}, embedder: null, sources: [] },
        })),
      },
    } as never,
    store: {
      cells,
      ...(canRewrite
        ? {
            redact: async (rewrite: (text: string) => string | null) => (
              did.push(["rewrite", rewrite('{"text":"the shed"}'), rewrite('{"text":"else"}')]),
              3
            ),
          }
        : {}),
    } as never,
    clock,
    log: { ...silentLog, info: (fields, message) => void did.push([message, fields]) },
  });
  const records = async () => (await cells.list("memory-", 99)).map(({ key, value }) => [key, value]);
  return { clock, cells, self, did, records };
}

test("is only shown until it is confirmed", async () => {
  const { self, did, records } = await setUp();
  expect(await self.forget("main", "shed", false)).toEqual({
    lines: [line],
    history: null,
    notes: ["big.md was not looked through: it is too large", outside],
  });
  expect(did).toEqual([["/h/memory/main.sqlite", { query: "shed", write: false, nowMs: 1_000 }]]);
  expect(await records()).toEqual([]);
});

test("goes from the history of notes, then the store, then the notes and their index; each time is recorded and told to all nodes", async () => {
  const { cells, clock, self, did, records } = await setUp();
  const history = noteHistory({ cells, clock });
  const from = { path: "a.md", session: "s", turn: "t", by: [], tool: "write" };
  await history.record("other", from, null, "- the shed\n");
  await history.record("other", from, "- the shed\n", null);
  await history.record("other", from, null, "- else\n");
  await history.record("main", from, null, "- the shed\n");
  const first = await self.forget("other", "shed", true);
  expect(first).toEqual({
    lines: [line],
    history: 3,
    notes: ["big.md was not looked through: it is too large", outside],
  });
  const told = "something was forgotten for somebody who asked for it";
  const record = { agent: "other", atMs: 1_000, lines: 1, history: 3 };
  expect(did).toEqual([
    ["rewrite", expect.stringContaining("[forgotten]"), null],
    ["/h/memory/other.sqlite", { query: "shed", write: true, nowMs: 1_000 }],
    [told, record],
  ]);
  expect((await history.list("other", 9)).map(({ added }) => added)).toEqual(["- else\n"]);
  expect(await history.list("main", 9)).toHaveLength(1);
  // Two of one moment are two records.
  await self.forget("other", "shed", true);
  expect((await records()).filter(([key]) => !key?.startsWith("memory-change:"))).toEqual([
    ["memory-forgotten:1000", JSON.stringify(record)],
    ["memory-forgotten:1001", JSON.stringify(record)],
    ["memory-last-forgotten:other", "1000"],
  ]);
});

test("a store that cannot rewrite what is stored says so; a question that says too little forgets nothing stored", async () => {
  const { self, did, records } = await setUp({ canRewrite: false });
  const plan = await self.forget("main", "shed", true);
  expect([plan.history, plan.notes]).toEqual([
    null,
    [
      "big.md was not looked through: it is too large",
      "what is stored of conversations stays: this store cannot rewrite it (`parley sessions forget` can)",
      outside,
    ],
  ]);
  expect(did.at(-1)).toMatchObject([expect.any(String), { history: null, lines: 1 }]);
  const other = await setUp();
  expect((await other.self.forget("main", "a", true)).history).toBeNull();
  expect(other.did).toHaveLength(1);
  expect((await records()).map(([key]) => key)).toEqual([
    "memory-forgotten:1000",
    "memory-last-forgotten:main",
  ]);
  const none = await setUp({ hasMemory: false });
  await expect(none.self.forget("main", "shed", false)).rejects.toMatchObject({
    code: "unsupported",
    message: "there is no memory here",
  });
});

test("the question is kept for its session and ten minutes, and confirmed once", async () => {
  const { clock, self, did } = await setUp();
  const [one, two] = ["agent:main:telegram:dm:1", "agent:main:telegram:dm:2"] as never[];
  expect((await self.ask(one as never, "main", "shed")).history).toBeNull();
  await self.ask(two as never, "main", "other words");
  expect(await self.confirm("agent:main:telegram:dm:3" as never, "main")).toBeNull();
  await clock.advance(599_999);
  expect(await self.confirm(one as never, "main")).toMatchObject({ history: 3 });
  expect(did.at(-2)).toMatchObject(["/h/memory/main.sqlite", { query: "shed", write: true }]);
  expect(await self.confirm(one as never, "main")).toBeNull();
  await clock.advance(1);
  expect(await self.confirm(two as never, "main")).toBeNull();
});
