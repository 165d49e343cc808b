// What `parley sessions tree` shows: each session before what it spawned, with the runtime's own states.
import type { Child } from "@parley/runner";
import type { Session } from "@parley/store";
import { expect, test } from "vitest";
import { sessionTree } from "../../src/operator/sessions/session-tree.ts";

const main = "agent:main:main";
const child = (id: string, parent: string, startedAtMs: number, end: Child["end"] = null): Child => ({
  v: 1,
  id,
  session: `agent:main:subagent:${id}`,
  parent,
  turn: `${parent}#1`,
  label: `does ${id}`,
  task: id,
  mode: "run",
  model: null,
  startedAtMs,
  asker: { session: parent, pool: "main", epoch: 1, reply: "push", hops: 0 },
  runs: 1,
  killed: false,
  end,
});
const session = (key: string, inputTokens: number): Session => ({
  key: key as Session["key"],
  epoch: 1,
  lastSeq: 0,
  fields: { usage: { inputTokens, outputTokens: 1 } },
  createdAtMs: 5,
  updatedAtMs: 6,
});

const failed = { state: "failed", reason: "the model refused", tokens: 3, atMs: 90 } as const;
// As the registry gives them: the newest first.
const children = [
  child("c-2", "agent:main:subagent:a-1", 30),
  child("b-1", main, 20, failed),
  child("a-1", main, 10),
  child("z-1", "agent:main:telegram:dm:eve", 5),
];
const sessions = [session(main, 10), session("agent:main:subagent:a-1", 4)];
const shown = (root: string | null) =>
  sessionTree(root, children, sessions, new Set([main])).map(
    ({ key, depth, state, reason, endedAtMs, tokens }) =>
      [depth, key.replace("agent:main:", ""), state, reason, endedAtMs, tokens].join(" "),
  );

test("a sub-agent says the beginning of what it was told to do, another session nothing", () => {
  const [of] = children.slice(-1);
  if (of === undefined) throw new Error("there is a child");
  const long = [{ ...of, task: "dig ".repeat(100) }];
  expect(sessionTree(null, long, sessions, new Set()).map(({ task }) => task?.length ?? null)).toEqual([
    null,
    300,
  ]);
});

const tree = [
  "0 main working   11",
  "1 subagent:a-1 running   5",
  "2 subagent:c-2 running   0",
  "1 subagent:b-1 failed the model refused 90 0",
];

test("every session that has sub-agents stands before them, the oldest of these first", () => {
  expect(shown(null)).toEqual(["0 telegram:dm:eve idle   0", "1 subagent:z-1 running   0", ...tree]);
});

test("one session's tree alone, also a sub-agent's", () => {
  expect(shown(main)).toEqual(tree);
  expect(shown("agent:main:subagent:a-1")).toEqual([
    "0 subagent:a-1 running   5",
    "1 subagent:c-2 running   0",
  ]);
});
