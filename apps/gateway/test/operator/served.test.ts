// What operators are served about tools, MCP servers, hooks, agents and the test of a model: whole answers,
// every refusal, and what is written.
import type { AgentConfig, Config } from "@parley/config";
import type { Model, ModelEvent, ModelRequest } from "@parley/models";
import { noUsage } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { agentAt, agentMethods } from "../../src/operator/agent/agents.ts";
import { hookMethods } from "../../src/operator/hooks.ts";
import { mcpDaemonMethods, mcpMethods } from "../../src/operator/agent/mcp.ts";
import { namedModel } from "../../src/operator/agent/named-model.ts";
import { testModel } from "../../src/operator/agent/test-model.ts";
import { toolMethods } from "../../src/operator/agent/tools.ts";

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    (value) => `went through: ${JSON.stringify(value)}`,
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  );
const agent = (id: string, more: object = {}): AgentConfig =>
  ({
    id,
    workspace: `/w/${id}`,
    model: { primary: "a/one", fallbacks: ["b/two"] },
    ...more,
  }) as unknown as AgentConfig;
const configOf = (...list: readonly AgentConfig[]): Config =>
  ({ agents: { list, defaults: { models: {} } }, tools: {} }) as unknown as Config;

describe("agents", () => {
  test("are listed with their models; the default is main, or the only one", async () => {
    const isDefault = async (...ids: readonly string[]): Promise<readonly string[]> => {
      const { agents } = await agentMethods({ config: configOf(...ids.map((id) => agent(id))) })[
        "agents.list"
      ]({});
      return agents.flatMap((each) => (each.isDefault ? [each.id] : []));
    };
    expect([await isDefault("x", "main"), await isDefault("x"), await isDefault("x", "y")]).toEqual([
      ["main"],
      ["x"],
      [],
    ]);
    expect((await agentMethods({ config: configOf(agent("x")) })["agents.list"]({})).agents).toEqual([
      { id: "x", isDefault: true, workspace: "/w/x", model: "a/one", fallbacks: ["b/two"] },
    ]);
  });

  test("are found by id, without one main or the first; a wrong one is told with those there are", () => {
    const config = configOf(agent("x"), agent("main"));
    expect([
      agentAt(config, undefined).id,
      agentAt(config, "x").id,
      agentAt(configOf(agent("y"), agent("z")), undefined).id,
    ]).toEqual(["main", "x", "y"]);
    expect(() => agentAt(config, "gone")).toThrow('there is no agent "gone"; there are: x, main');
  });

  test("a model that an operator names wrongly is told with what is near", async () => {
    const config = configOf(agent("main"));
    const catalog = (nearest: readonly string[]) => ({
      find: async (_agent: object, word: string) => (word === "one" ? { ref: "a/one" } : { nearest }),
    });
    const key = "agent:main:main";
    expect(await namedModel(config, catalog([]), key, "one")).toBe("a/one");
    expect(await refusal(namedModel(config, catalog([]), key, "x"))).toBe(
      'invalid: no model is called "x": "parley models list" shows all',
    );
    expect(await refusal(namedModel(config, catalog(["fast", "a/one"]), key, "x"))).toBe(
      'invalid: no model is called "x": did you mean fast, a/one?',
    );
    expect(await refusal(namedModel(config, catalog([]), "agent:gone:main", "one"))).toBe(
      'missing: there is no agent "gone" in agents.list any more',
    );
  });
});

describe("approvals and questions", () => {
  const approval = (id: string, state: string, grant: object | null = null) => ({
    id,
    state,
    session: "agent:main:main",
    agent: "main",
    tool: "exec",
    shown: "rm x",
    reason: "it asks",
    grant,
    askedBy: ["telegram:1"],
    turn: "t",
    conversation: "telegram:default:dm:1",
    createdAtMs: 1,
    expiresAtMs: 2,
    log: [],
    args: { secret: "never shown" },
  });
  const question = (id: string, state: string, more: object = {}) => ({
    v: 1,
    id,
    state,
    session: "agent:main:main",
    conversation: "telegram:default:dm:1",
    question: "Which?",
    options: ["a"],
    people: ["telegram:1"],
    createdAtMs: 1,
    expiresAtMs: 2,
    turn: "t",
    ...more,
  });
  const did: unknown[] = [];
  const methods = toolMethods({
    config: configOf(agent("main")),
    store: {},
    approvals: {
      list: async () => [approval("p1", "open"), approval("p2", "denied"), approval("p3", "open", {})],
      book: {
        grants: async () => [{ id: "g1", argv: ["ls"] }],
        revoke: async (id: string) => id === "g1",
      },
      decide: async (...what: readonly unknown[]) => {
        did.push(what);
        return { approval: approval("p1", "allowed"), say: "Allowed." };
      },
    },
    questions: {
      list: async () => [
        question("q1", "open"),
        question("q2", "answered", { answer: { text: "a", by: "telegram:1", name: "O" } }),
      ],
    },
    hold: { hold: async (by: string) => by === "new", release: async () => true },
  } as never);

  test("are listed while they are open, or all; what a call was given is not among it", async () => {
    const { approvals, grants } = await methods["approvals.list"]({});
    expect(approvals.map(({ id, always }) => [id, always])).toEqual([
      ["p1", false],
      ["p3", true],
    ]);
    expect(JSON.stringify(approvals)).not.toContain("never shown");
    expect(grants).toEqual([{ id: "g1", argv: ["ls"] }]);
    expect((await methods["approvals.list"]({ all: true })).approvals.map(({ id }) => id)).toEqual([
      "p1",
      "p2",
      "p3",
    ]);
    const open = await methods["questions.list"]({});
    expect(open.questions).toEqual([
      {
        id: "q1",
        state: "open",
        session: "agent:main:main",
        conversation: "telegram:default:dm:1",
        question: "Which?",
        options: ["a"],
        people: ["telegram:1"],
        createdAtMs: 1,
        expiresAtMs: 2,
        answer: null,
      },
    ]);
    const all = await methods["questions.list"]({ all: true });
    expect(all.questions.map(({ answer }) => answer)).toEqual([
      null,
      { text: "a", by: "telegram:1", name: "O" },
    ]);
  });

  test("are decided in the caller's name; what was allowed for good is taken back by its id", async () => {
    expect(await methods["approvals.resolve"]({ id: "p1", decision: "once" }, { peer: "cli" })).toEqual({
      id: "p1",
      state: "allowed",
      say: "Allowed.",
    });
    expect(did).toEqual([["p1", "once", { operator: "cli" }]]);
    expect(await methods["approvals.revoke"]({ id: "g1" })).toEqual({ id: "g1" });
    expect(await refusal(methods["approvals.revoke"]({ id: "g2" }))).toBe(
      'missing: nothing was allowed for good under "g2"; `parley approvals list` shows what was',
    );
    expect(await methods["tools.hold"]({}, { peer: "new" })).toEqual({ held: true });
    expect(await methods["tools.resume"]()).toEqual({ resumed: true });
  });
});

test("an MCP server is shown whole: its tools by the names that agents use, what waits beside what was approved", async () => {
  const tool = (name: string) => ({ name, description: "d", schema: {} });
  const bare = { name: "files", state: "off", tools: [], waiting: [], leftOut: [] };
  const full = {
    ...bare,
    name: "web",
    reason: "it waits",
    about: { name: "Web", version: "" },
    pid: 7,
    tools: [tool("get")],
    waiting: [{ now: tool("put"), before: tool("put") }, { now: tool("new") }],
    leftOut: [{ name: "x", reason: "too long" }],
  };
  const mcp = {
    list: async () => [bare, full],
    forget: async () => true,
    logout: async () => false,
    test: async () => bare,
  } as never;
  const { servers } = await mcpMethods({ mcp })["mcp.list"]({});
  const shown = (name: string) => ({ ...tool(name), tool: `web__${name}` });
  expect(servers).toEqual([
    { ...bare, reason: null, version: null, pid: null },
    {
      ...bare,
      name: "web",
      reason: "it waits",
      version: "Web",
      pid: 7,
      tools: [shown("get")],
      waiting: [
        { ...shown("put"), before: shown("put") },
        { ...shown("new"), before: null },
      ],
      leftOut: [{ name: "x", reason: "too long" }],
    },
  ]);
  expect((await mcpMethods({ mcp })["mcp.list"]({ name: "web" })).servers.map(({ name }) => name)).toEqual([
    "web",
  ]);
  expect(await refusal(mcpMethods({ mcp })["mcp.list"]({ name: "gone" }))).toBe(
    'missing: there is no MCP server "gone" in the config (mcp.servers)',
  );
  expect(await mcpDaemonMethods({ mcp })["mcp.logout"]({ name: "web" })).toEqual({
    name: "web",
    wasLoggedIn: false,
  });
});

describe("hooks", () => {
  const hook = (name: string, more: object = {}) => ({
    name,
    key: name,
    description: "d",
    emoji: null,
    source: "workspace",
    agent: "main",
    events: ["command:new"],
    file: `/w/hooks/${name}/HOOK.md`,
    state: { status: "ready" },
    eligible: true,
    notes: [],
    ...more,
  });
  const stage = (entries: object = {}, pin: string | null = "abc") => {
    const written: unknown[] = [];
    const methods = hookMethods({
      hooks: {
        survey: async () => ({
          enabled: true,
          roots: [],
          shadowed: [],
          refused: [
            { file: "/w/hooks/bad/HOOK.md", reason: "it has no name" },
            { file: "/w/hooks/bad-too/HOOK.md", reason: "it has none either" },
          ],
          hooks: [
            hook("one"),
            hook("two", { key: "my-two", state: { status: "disabled", reason: "it is off" } }),
            hook("bundled", { source: "bundled" }),
            hook("line", { source: "config" }),
            hook("lacking", { state: { status: "unmet", reason: "a program is missing" }, eligible: false }),
          ],
        }),
        pinOf: async ({ source }: { readonly source: string }) => (source === "workspace" ? pin : null),
      },
      hookCounts: () =>
        new Map([["one", { runs: 2, failed: 1, timedOut: 0, dropped: 0, lastAtMs: 5, lastError: "x" }]]),
      configNow: () => ({ hooks: { internal: { entries } } }),
      setConfig: async ({ changes }: { readonly changes: unknown }) => (written.push(changes), {}),
    } as never);
    return { written, methods };
  };
  const at = (name: string, key: string) => ["hooks", "internal", "entries", name, key];

  test("are listed with what became of their calls and why one does not run", async () => {
    const { hooks } = await stage().methods["hooks.list"]({});
    expect(
      hooks.map(({ name, status, reason, enabled, counts }) => [name, status, reason, enabled, counts?.runs]),
    ).toEqual([
      ["one", "ready", null, true, 2],
      ["two", "disabled", "it is off", false, 0],
      ["bundled", "ready", null, true, 0],
      ["line", "ready", null, true, 0],
      ["lacking", "unmet", "a program is missing", true, 0],
    ]);
  });

  test("are switched under the key that the config has; one of a workspace with the hash of what was seen", async () => {
    const s = stage({ MY_TWO: {} });
    await s.methods["hooks.enable"]({ name: " ONE " });
    await s.methods["hooks.disable"]({ name: "one" });
    await s.methods["hooks.enable"]({ name: "bundled" });
    expect(s.written).toEqual([
      [
        { path: at("one", "enabled"), value: true },
        { path: at("one", "sha256"), value: "abc" },
      ],
      [{ path: at("one", "enabled"), value: false }],
      [{ path: at("bundled", "enabled"), value: true }],
    ]);
    const known = stage({ "my-two": {} });
    await known.methods["hooks.disable"]({ name: "two" });
    expect(known.written).toEqual([[{ path: at("my-two", "enabled"), value: false }]]);
    // By its key too, and under its name where the config has neither.
    const fresh = stage();
    await fresh.methods["hooks.disable"]({ name: "MY-TWO" });
    expect(fresh.written).toEqual([[{ path: at("two", "enabled"), value: false }]]);
  });

  test("are refused with the way on", async () => {
    const s = stage({}, null);
    expect(await refusal(s.methods["hooks.enable"]({ name: "line" }))).toBe(
      "invalid: line is a line of hooks.internal.handlers: change it there",
    );
    expect(await refusal(s.methods["hooks.enable"]({ name: "one" }))).toBe(
      "invalid: the folder of /w/hooks/one/HOOK.md holds links, or more than a hook has: nothing says what would run",
    );
    expect(await refusal(s.methods["hooks.disable"]({ name: "bad" }))).toBe(
      'missing: there is no hook "bad". `parley hooks list` shows them.\n/w/hooks/bad/HOOK.md is refused: it has no name',
    );
    expect(s.written).toEqual([]);
    await s.methods["hooks.disable"]({ name: "one" });
    expect(s.written).toHaveLength(1);
  });
});

describe("the test of a model", () => {
  const clock = virtualClock();
  const usage = { ...noUsage, inputTokens: 3, cacheReadTokens: 2, cacheWriteTokens: 1, outputTokens: 4 };
  type Content = Extract<ModelEvent, { type: "end" }>["content"];
  const called: Content = [{ type: "toolCall", id: "c", name: "answer", args: { word: "parley" } }];
  const said = (text: string): Content => [{ type: "text", text }];
  const tested = async (
    answers: readonly (Content | "invalid" | "auth")[],
    id = "a/one",
    thinking: "high" | "off" = "high",
  ) => {
    const asked: ModelRequest[] = [];
    const model: Model = {
      id,
      contextWindow: 1_000,
      maxTokens: 1_000,
      vision: false,
      reasoning: true,
      async *stream(request): AsyncGenerator<ModelEvent> {
        asked.push(request);
        const content = answers[asked.length - 1] ?? [];
        if (typeof content === "string") {
          yield {
            type: "end",
            stop: "error",
            usage,
            content: [],
            error: { kind: content, message: "no", status: 400 },
          };
          return;
        }
        for (const part of content) if (part.type === "text") yield { type: "text", delta: part.text };
        yield { type: "end", stop: "stop", usage, content };
      },
    };
    const result = await testModel(
      model,
      configOf(agent("main", { thinkingDefault: thinking, tools: {} })),
      clock,
    );
    expect(clock.armed()).toBe(0);
    return {
      result,
      asked: asked.map(({ thinking: level, maxTokens, messages }) => [level, maxTokens, messages.length]),
    };
  };

  test("of one that calls twice: one call is answered with the word, the other with why not, each once", async () => {
    const told: unknown[] = [];
    const other = { type: "toolCall", id: "d", name: "answer", args: { word: "other" } } as const;
    const model = {
      id: "a/one",
      maxTokens: 1_000,
      async *stream({ messages }: ModelRequest): AsyncGenerator<ModelEvent> {
        told.push(...messages.filter(({ role }) => role === "tool"));
        const content = messages.length === 1 ? [other, ...called] : said("harbour");
        yield { type: "end", stop: "stop", usage, content };
      },
    } as unknown as Model;
    await testModel(model, configOf(agent("main", { thinkingDefault: "off", tools: {} })), clock);
    expect(told).toEqual(
      [
        ["d", "one call is enough"],
        ["c", "harbour"],
      ].map(([callId, text]) => ({
        role: "tool",
        callId,
        name: "answer",
        content: [{ type: "text", text }],
        isError: false,
      })),
    );
  });

  test("of one that hangs ends after two minutes, and is told as what it is", async () => {
    const model = {
      id: "a/one",
      maxTokens: 1_000,
      async *stream(_request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        yield {
          type: "end",
          stop: "error",
          usage,
          content: [],
          error: { kind: "timeout", message: (signal.reason as Error).message },
        } as never;
      },
    } as unknown as Model;
    const testing = testModel(model, configOf(agent("main", { thinkingDefault: "off", tools: {} })), clock);
    let done = false;
    void testing.then(() => (done = true));
    await clock.advance(119_999);
    expect(done).toBe(false);
    await clock.advance(1);
    expect(await testing).toMatchObject({ ok: false, totalMs: 120_000, error: { kind: "timeout" } });
  });

  test("of one that does all of it", async () => {
    const { result, asked } = await tested([called, said("harbour")]);
    expect(result).toMatchObject({
      id: "a/one",
      ok: true,
      error: null,
      toolCalling: true,
      roundTrip: true,
      thinking: { level: "high", works: true },
      inputTokens: 12,
      outputTokens: 8,
      costUsd: null,
    });
    expect(asked).toEqual([
      ["high", 1_000, 1],
      ["high", 1_000, 3],
    ]);
    expect((await tested([called, said("ok")], "a/one", "off")).asked[0]).toEqual(["off", 512, 1]);
  });

  test.each<[string, readonly (Content | "invalid" | "auth")[], object, number]>([
    [
      "that talks instead of calling",
      [said("hello")],
      { ok: true, toolCalling: false, roundTrip: null, text: "hello" },
      1,
    ],
    [
      "that calls with another word",
      [[{ type: "toolCall", id: "c", name: "answer", args: { word: "other" } }]],
      { ok: true, toolCalling: false, roundTrip: null },
      1,
    ],
    [
      "that says nothing after the result",
      [called, said(" ")],
      { ok: true, toolCalling: true, roundTrip: false },
      2,
    ],
    [
      "that fails after the result",
      [called, "auth"],
      { ok: false, toolCalling: true, roundTrip: false, error: { kind: "auth", message: "no", status: 400 } },
      2,
    ],
    [
      "whose thinking level is wrong",
      ["invalid", called, said("ok")],
      {
        ok: true,
        toolCalling: true,
        roundTrip: true,
        thinking: { level: "high", works: false, shown: false },
        error: { kind: "invalid", message: "no", status: 400 },
        inputTokens: 18,
      },
      3,
    ],
    [
      "that is wrong altogether",
      ["invalid", "invalid"],
      {
        ok: false,
        toolCalling: false,
        roundTrip: null,
        thinking: { level: "high", works: false, shown: false },
      },
      2,
    ],
    [
      "that refuses the key",
      ["auth"],
      { ok: false, thinking: { level: "high", works: false, shown: false } },
      1,
    ],
    ["that talks much", [said("x".repeat(300))], { text: "x".repeat(200) }, 1],
  ])("of one %s", async (_, answers, shown, calls) => {
    const { result, asked } = await tested(answers);
    expect(result).toMatchObject(shown);
    expect(asked).toHaveLength(calls);
  });
});
