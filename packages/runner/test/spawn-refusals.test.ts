// Why a sub-agent is not begun, steered or found, in the words that the model reads, and what stands in the
// store for one that is.
import { noRedaction } from "@parley/agent";
import { formatRowPayload, parseRowPayload, type SessionKey } from "@parley/protocol";
import { directMessage, virtualClock } from "@parley/testkit";
import type { ToolScope } from "@parley/tools";
import { describe, expect, test } from "vitest";
import { childOf, type Child } from "../src/sessions/child-registry.ts";
import { childrenPort } from "../src/sessions/children.ts";
import { isBoxed } from "../src/sessions/may-spawn.ts";

const session = "agent:main:telegram:dm:7" as SessionKey;
const scope = (more: object = {}): ToolScope =>
  ({
    session,
    agent: "main",
    turn: `${session}#1`,
    callId: "c1",
    conversation: "telegram:default:dm:7",
    by: { owner: false, senders: ["telegram:7"] },
    ...more,
  }) as unknown as ToolScope;
const request = (more: object = {}) =>
  ({ task: "dig", context: "isolated", attachments: [], mode: "run", ...more }) as never;
const child = (more: Partial<Child> = {}): Child =>
  ({
    v: 1,
    id: "0123456789ab-1",
    session: "agent:main:subagent:0123456789ab-1",
    parent: session,
    label: "digger",
    mode: "run",
    model: null,
    startedAtMs: 0,
    runs: 1,
    end: null,
    ...more,
  }) as Child;

function stage({
  children = [] as readonly Child[],
  subagents = {} as object,
  threads = true,
  agents = [] as readonly object[],
  transcript = [] as readonly object[],
} = {}) {
  const clock = virtualClock();
  const row = {
    id: "r1",
    pool: "main",
    lane: session,
    conversation: "telegram:default:dm:7",
    authority: "telegram:7",
    payload: formatRowPayload({
      v: 1,
      inbound: directMessage({ sender: { id: "7" } }),
      owner: false,
    } as never),
  };
  const model = { primary: "a/one", fallbacks: [] };
  const agent = (id: string, mode: string, more = {}) => ({ id, model, sandbox: { mode }, ...more });
  const list = [agent("main", "non-main"), agent("open", "off"), agent("safe", "all"), ...agents];
  return childrenPort({
    config: {
      agents: {
        list,
        defaults: {
          models: { "a/one": { alias: "quick" } },
          subagents: {
            maxSpawnDepth: 1,
            maxChildrenPerAgent: 2,
            allowAgents: ["open", "safe"],
            runTimeoutSeconds: 0,
            ...subagents,
          },
        },
      },
      models: { providers: {} },
      session: { threadBindings: { enabled: threads } },
    },
    models: { list: () => [], get: async () => ({}) },
    sessions: { open: async () => ({ epoch: 0 }), transcript: async () => transcript },
    inbox: { find: async () => [row] },
    cells: { get: async () => null },
    children: {
      all: async () => children,
      below: async (of: string) => children.filter(({ parent }) => parent === of),
    },
    threads: { threadsOf: () => [] },
    channel: () => null,
    redaction: noRedaction,
    clock,
  } as never);
}
const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "begun",
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  );
const inMain = "agent:main:main" as SessionKey;
const deep = "agent:main:subagent:0123456789ab-1" as SessionKey;
const full =
  "denied: 2 sub-agents of this session run already, and 2 may (agents.defaults.subagents.maxChildrenPerAgent): wait until one of them ends";
const unsafe =
  'denied: this session is sandboxed and agent "open" is not (its sandbox.mode): its sub-agent could do more than you';

describe("a sub-agent is refused", () => {
  const ended = { state: "answered", reason: null, tokens: 1, atMs: 1 } as const;
  const other = { id: "0123456789ac-1", session: "agent:main:subagent:0123456789ac-1" };
  test.each<[string, object, object, object, string]>([
    [
      "deeper than may be",
      {},
      { session: deep },
      {},
      "denied: sub-agents go 1 deep at most (agents.defaults.subagents.maxSpawnDepth): do this work yourself",
    ],
    ["one deeper where that may be", { subagents: { maxSpawnDepth: 2 } }, { session: deep }, {}, "begun"],
    [
      "as an agent that none may be",
      {},
      { session: inMain },
      { agentId: "other" },
      'denied: agent "other" is not one of those that sub-agents may be here: main, open, safe (agents.defaults.subagents.allowAgents)',
    ],
    [
      "as an agent that this one may not use",
      {
        agents: [
          {
            id: "own",
            model: { primary: "a/one", fallbacks: [] },
            sandbox: { mode: "off" },
            subagents: { allowAgents: ["safe"] },
          },
        ],
      },
      { agent: "own", session: "agent:own:main" },
      { agentId: "open" },
      'denied: agent "open" is not one of those that sub-agents may be here: own, safe (agents.defaults.subagents.allowAgents)',
    ],
    ["outside the sandbox that its parent is in", {}, {}, { agentId: "open" }, unsafe],
    ["outside, from where nothing is sandboxed", {}, { session: inMain }, { agentId: "open" }, "begun"],
    ["in another sandbox", {}, {}, { agentId: "safe" }, "begun"],
    [
      "with a model that is not there",
      {},
      {},
      { model: "quikc" },
      'invalid: there is no model "quikc"; near it: quick',
    ],
    ["beside as many as may run", { children: [child(), child(other)] }, {}, {}, full],
    ["beside one that has ended", { children: [child(), child({ ...other, end: ended })] }, {}, {}, "begun"],
    [
      "beside those of another session",
      { children: [child(), child({ ...other, parent: "agent:main:main" })] },
      {},
      {},
      "begun",
    ],
    [
      "in a thread where there are none",
      { threads: false },
      {},
      { thread: true },
      "denied: sub-agents get no threads of their own here (session.threadBindings.enabled): spawn it without thread",
    ],
    [
      "in a thread of a private chat",
      {},
      {},
      { thread: true },
      "unsupported: a private chat has no threads: spawn it without thread, and its result comes here by itself",
    ],
    [
      "without a task",
      {},
      {},
      { task: " \n" },
      "invalid: the task says nothing: write all that the sub-agent needs to know",
    ],
    [
      "with a file of the machine",
      {},
      {},
      { attachments: ["a", "/etc/passwd"] },
      'invalid: attachments are paths in the workspace, not "/etc/passwd"',
    ],
    [
      "with a file above the workspace",
      {},
      {},
      { attachments: [String.raw`a\..\b`] },
      String.raw`invalid: attachments are paths in the workspace, not "a\\..\\b"`,
    ],
    [
      "with files for another agent",
      {},
      {},
      { agentId: "safe", attachments: ["a"] },
      "invalid: attachments go to sub-agents of the same agent: another one has its own workspace",
    ],
  ])("%s", async (_, options, where, what, words) => {
    expect(await refusal(stage(options).spawn(scope(where), request(what)))).toBe(words);
  });
});

test("a call that runs again makes the same sub-agent, which takes no second place", async () => {
  const { id } = childOf(scope(), "main");
  const again = stage({ children: [child(), child({ id })] });
  const { text, effects } = await again.spawn(scope(), request());
  expect(text).toBe(
    `Sub-agent ${id} (dig) has the task. Its result comes here by itself as a [System Message]; do not wait for it with other calls.`,
  );
  expect(effects?.cells?.map(({ key, expect: version }) => [key, version])).toEqual([[`child:${id}`, 0]]);
});

test("a sub-agent is named by its label, else by the first line of its task, cut at forty characters", async () => {
  const label = async (more: object): Promise<unknown> => {
    const { effects } = await stage().spawn(scope(), request(more));
    return (JSON.parse(effects?.cells?.[0]?.value ?? "") as Child).label;
  };
  expect(await label({ label: " the\ndigger " })).toBe("the digger");
  expect(await label({ label: "x".repeat(60) })).toBe("x".repeat(60));
  expect(await label({ label: "x".repeat(61) })).toBe(`${"x".repeat(59)}…`);
  expect(await label({ task: `${"x".repeat(40)}\nmore` })).toBe("x".repeat(40));
  expect(await label({ task: `${"x".repeat(39)} yz` })).toBe(`${"x".repeat(39)}…`);
  expect(await label({ label: "", task: "\n dig \nmore" })).toBe("dig");
});

test("what a run may take is what the call says, else the config; 0 seconds there mean no limit", async () => {
  const run = async (subagents: object, more: object): Promise<unknown> => {
    const { effects } = await stage({ subagents }).spawn(scope(), request(more));
    const { internal } = JSON.parse(effects?.rows?.[0]?.payload ?? "") as { internal: { run: object } };
    return internal.run;
  };
  const all = { model: "quick", thinking: "low", runTimeoutSeconds: 60 };
  expect(await run({}, {})).toEqual({ label: "dig" });
  expect(await run(all, {})).toEqual({ label: "dig", model: "a/one", thinking: "low", timeoutSeconds: 60 });
  expect(await run(all, { model: "a/one", thinking: "high", timeoutSeconds: 5 })).toEqual({
    label: "dig",
    model: "a/one",
    thinking: "high",
    timeoutSeconds: 5,
  });
});

describe("a sub-agent that is named", () => {
  const ended = { state: "answered", reason: null, tokens: 1, atMs: 1 } as const;
  test("wrongly is told with those that there are", async () => {
    expect(await refusal(stage().log(scope(), "x", 5))).toBe(
      'missing: no sub-agent of this session is called "x"; there is none',
    );
    const two = stage({ children: [child(), child({ id: "0123456789ac-1", label: "other" })] });
    expect(await refusal(two.kill(scope(), "y".repeat(90)))).toBe(
      `missing: no sub-agent of this session is called "${"y".repeat(80)}"; there are 0123456789ab-1 (digger), 0123456789ac-1 (other)`,
    );
    expect(await refusal(two.log(scope({ session: inMain }), "digger", 5))).toContain("there is none");
  });

  test("by an id that is also another one's label is the one with the id", async () => {
    const misled = child({ id: "0123456789ac-1", label: "0123456789ab-1", end: ended });
    const both = stage({ children: [misled, child({ end: ended })] });
    expect(await refusal(both.steer(scope(), "0123456789ab-1", "more"))).toContain(
      "sub-agent 0123456789ab-1 has ended",
    );
    expect(await refusal(both.steer(scope(), "0123456789ac-1", "more"))).toContain(
      "sub-agent 0123456789ac-1 has ended",
    );
  });

  test("and has ended takes more work only where it was spawned for more than one run, and where there is room", async () => {
    const run = stage({ children: [child({ end: ended })] });
    expect(await refusal(run.steer(scope(), "digger", "more"))).toBe(
      "conflict: sub-agent 0123456789ab-1 has ended, and it was spawned for one run: spawn another",
    );
    const lasting = child({ end: ended, mode: "session" });
    const { text, effects } = await stage({ children: [lasting] }).steer(scope(), "digger", "more");
    expect(text).toBe("Sub-agent 0123456789ab-1 has more work; its result comes here by itself.");
    expect(JSON.parse(effects?.cells?.[0]?.value ?? "")).toMatchObject({ runs: 2, end: null, killed: false });
    const others = ["0123456789ac-1", "0123456789ad-1"].map((id) => child({ id }));
    expect(await refusal(stage({ children: [lasting, ...others] }).steer(scope(), "digger", "more"))).toBe(
      full,
    );
    const running = await stage({ children: [child(), ...others] }).steer(scope(), "0123456789ab-1", "more");
    expect([running.text, running.effects?.cells]).toEqual([
      "Sub-agent 0123456789ab-1 reads this before its next step.",
      [],
    ]);
  });
});

test("a session is sandboxed by its agent's mode, and the agent's main one only where all are", () => {
  const boxed = (mode: "off" | "non-main" | "all"): readonly boolean[] => [
    isBoxed(mode, session),
    isBoxed(mode, inMain),
  ];
  expect([boxed("off"), boxed("non-main"), boxed("all")]).toEqual([
    [false, false],
    [true, false],
    [true, true],
  ]);
});

test("a sub-agent may be told the conversation so far, its newest 40,000 characters, below the files for it", async () => {
  const said = (words: string, epoch = 0) => ({
    seq: 1,
    epoch,
    body: JSON.stringify({ type: "user", content: [{ type: "text", text: words }], rows: [], atMs: 0 }),
  });
  const told = async (transcript: readonly object[], more: object): Promise<string> => {
    const { effects } = await stage({ transcript }).spawn(scope(), request(more));
    return parseRowPayload(effects?.rows?.[0]?.payload ?? "").inbound.text;
  };
  const before = said("before the new conversation", -1);
  const head = `Task from session ${session}: dig`;
  const files = "Files for it in the workspace: a.txt, b/c.txt";
  const attachments = ["a.txt", "b/c.txt"];
  expect([
    await told([said("hello")], {}),
    await told([said("hello")], { attachments }),
    (await told([before, said("hello")], { context: "fork", attachments })).split("\n\n").slice(0, 2),
  ]).toEqual([head, `${head}\n\n${files}`, [head, files]]);
  const forked = await told([before, said("hello"), said("there")], { context: "fork" });
  expect(forked).toMatch(
    /: dig\n\nThe conversation so far, for context only:\n[^\n]*hello[^\n]*\n[^\n]*there[^\n]*$/,
  );
  expect(forked).not.toContain("before the new");
  const all = await told(
    [said("x".repeat(900)), ...Array.from({ length: 60 }, () => said("y".repeat(900)))],
    {
      context: "fork",
    },
  );
  const kept = all.split("for context only:\n")[1] ?? "";
  expect([kept.length, kept.startsWith("…"), kept.includes("x"), kept.endsWith("yyy")]).toEqual([
    40_001,
    true,
    false,
    true,
  ]);
});
