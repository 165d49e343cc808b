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
import { askedByLines, listedTools } from "@parley/runner";
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
    const second = agent("main", { workspace: "/elsewhere", model: { primary: "c/three", fallbacks: [] } });
    expect(await agentMethods({ config: configOf(agent("x"), second) })["agents.list"]({})).toEqual({
      agents: [
        { id: "x", isDefault: false, workspace: "/w/x", model: "a/one", fallbacks: ["b/two"] },
        { id: "main", isDefault: true, workspace: "/elsewhere", model: "c/three", fallbacks: [] },
      ],
    });
  });

  test("are found by id, without one main or the first; a wrong one is told with those there are", () => {
    const config = configOf(agent("x"), agent("main"));
    expect([
      agentAt(config, undefined).id,
      agentAt(config, "x").id,
      agentAt(configOf(agent("y"), agent("z")), undefined).id,
    ]).toEqual(["main", "x", "y"]);
    expect(() => agentAt(config, "gone")).toThrow('there is no agent "gone"; there are: x, main');
    expect(() => agentAt(configOf(), undefined)).toThrow('there is no agent "main"; there are: ');
  });

  test("a model that an operator names wrongly is told with what is near", async () => {
    const config = configOf(agent("main"));
    const catalog = (nearest: readonly string[]) => ({
      find: async (_agent: object, word: string) => (word === "one" ? { ref: "a/one" } : { nearest }),
    });
    const key = "agent:main:main";
    expect(await namedModel(config, catalog([]), key, "one")).toBe("a/one");
    // The words are those of the session's own agent.
    const asked: unknown[] = [];
    const find = async ({ id }: AgentConfig, word: string) => (asked.push([id, word]), { ref: `${id}/x` });
    const two = configOf(agent("main"), agent("second"));
    expect(await namedModel(two, { find } as never, "agent:second:telegram:dm:1", "one")).toBe("second/x");
    expect(asked).toEqual([["second", "one"]]);
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
  /** Differs from every other in each of its fields. */
  const other = {
    ...approval("p3", "open", {}),
    session: "agent:second:web:dm:web-1",
    agent: "second",
    tool: "write",
    shown: "write y",
    reason: "it writes",
    askedBy: [],
    turn: "t3",
    conversation: "web:default:dm:web-1",
    createdAtMs: 31,
    expiresAtMs: 32,
    log: [{ atMs: 33, by: "Ada", what: "was shown" }],
  };
  const did: unknown[] = [];
  const methods = toolMethods({
    config: configOf(agent("main")),
    store: {},
    approvals: {
      list: async () => [approval("p1", "open"), approval("p2", "denied"), other],
      book: {
        grants: async () => [{ id: "g1", argv: ["ls"] }],
        revoke: async (id: string) => id === "g1",
      },
      decide: async (...what: readonly unknown[]) => {
        did.push(what);
        return { approval: approval("p1-whole", "allowed"), say: "Allowed." };
      },
    },
    questions: {
      list: async () => [
        question("q1", "open"),
        question("q2", "answered", {
          session: "agent:second:main",
          conversation: "web:default:dm:2",
          question: "When?",
          options: [],
          people: ["web:2"],
          createdAtMs: 21,
          expiresAtMs: 22,
          answer: { text: "a", by: "telegram:1", name: "O" },
        }),
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
    const { turn: _turn, conversation: _conversation, grant: _grant, args: _args, ...told } = other;
    expect(approvals[1]).toEqual({ ...told, always: true, asked: askedByLines(other as never) });
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
    expect(all.questions[0]?.answer).toBe(null);
    expect(all.questions[1]).toEqual({
      id: "q2",
      state: "answered",
      session: "agent:second:main",
      conversation: "web:default:dm:2",
      question: "When?",
      options: [],
      people: ["web:2"],
      createdAtMs: 21,
      expiresAtMs: 22,
      answer: { text: "a", by: "telegram:1", name: "O" },
    });
  });

  test("are decided in the caller's name; what was allowed for good is taken back by its id", async () => {
    expect(await methods["approvals.resolve"]({ id: "p1", decision: "once" }, { peer: "cli" })).toEqual({
      id: "p1-whole",
      state: "allowed",
      say: "Allowed.",
    });
    expect(did).toEqual([["p1", "once", { operator: "cli" }]]);
    expect(await methods["approvals.revoke"]({ id: "g1" })).toEqual({ id: "g1" });
    expect(await refusal(methods["approvals.revoke"]({ id: "g2" }))).toBe(
      'missing: nothing was allowed for good under "g2"; `parley approvals list` shows what was',
    );
    expect(await methods["tools.hold"]({}, { peer: "new" })).toEqual({ held: true });
    expect(await methods["tools.hold"]({}, { peer: "again" })).toEqual({ held: false });
    expect(await methods["tools.resume"]()).toEqual({ resumed: true });
  });
});

test("the tools of a session are told with where they run and why the rest is refused", async () => {
  const asked: unknown[] = [];
  const key = "agent:second:telegram:dm:5";
  const stage = (here: object) =>
    toolMethods({
      config: configOf(agent("main")),
      store: { sessions: { list: async () => [{ key: `${key}5` }, { key }] } },
      prompts: { turns: async () => [] },
      turnPreparer: {
        prompt: async ({ agent: of, session }: { agent: string; session: { key: string } }) => {
          asked.push([of, session.key]);
          return { here };
        },
      },
    } as never);
  const decision = { removed: [{ tool: "exec", rule: "tools.deny" }], reason: "the sender is a stranger" };
  const unavailable = [{ tool: "browser", reason: "no browser" }];
  const none = { decision, sandbox: undefined, tools: [], refused: new Map(), unavailable };
  const methods = stage(none);
  expect(await methods["tools.list"]({ session: key })).toEqual({
    session: key,
    tools: [...listedTools(none as never)],
    sandbox: null,
    reason: "the sender is a stranger",
  });
  expect(asked).toEqual([["second", key]]);
  const { reason: _reason, ...open } = decision;
  const boxed = { ...none, decision: open, sandbox: { kind: "bubblewrap", access: "ro", network: "none" } };
  expect(await stage(boxed)["tools.list"]({})).toMatchObject({
    session: `${key}5`,
    sandbox: "bubblewrap, workspace ro, network none",
    reason: null,
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
  const mcp = { list: async () => [bare, full], logout: async () => false } as never;
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

test("an MCP server is approved, forgotten, tried and logged in to by its own name, and told as it is then", async () => {
  const did: unknown[] = [];
  const tool = (name: string) => ({ name, description: "d", schema: {} });
  const view = (name: string, of: string) => ({
    name,
    state: "ready",
    reason: `after ${of}`,
    about: { name: "Srv", version: "1.2" },
    tools: [tool(of)],
    waiting: [],
    leftOut: [],
  });
  const does =
    <T>(what: string, answer: (name: string) => T) =>
    async (...given: readonly [string, ...unknown[]]): Promise<T> => {
      did.push([what, ...given]);
      return answer(given[0]);
    };
  const mcp = {
    list: does("list", () => [view("files", "list"), view("web", "list")]),
    approve: does("approve", (name) => ({ ...view(name, "approve"), tools: ["get", "put"] })),
    forget: does("forget", (name) => name === "web"),
    test: does("test", (name) => view(name, "test")),
    login: does("login", (name) => `https://${name}.example/authorize`),
    finishLogin: does("finishLogin", (name) => view(name, "login")),
    logout: does("logout", (name) => name === "web"),
  } as never;
  const methods = { ...mcpMethods({ mcp }), ...mcpDaemonMethods({ mcp }) };
  const shown = (name: string, of: string) => ({
    name,
    state: "ready",
    reason: `after ${of}`,
    version: "Srv 1.2",
    pid: null,
    tools: [{ ...tool(of), tool: `${name}__${of}` }],
    waiting: [],
    leftOut: [],
  });
  const redirectUrl = "http://127.0.0.1:1/cb";
  expect(await methods["mcp.approve"]({ name: "web", code: "abc" })).toEqual({
    name: "web",
    tools: ["get", "put"],
  });
  expect(await methods["mcp.forget"]({ name: "web" })).toEqual({ name: "web", forgotten: true });
  expect(await methods["mcp.forget"]({ name: "files" })).toEqual({ name: "files", forgotten: false });
  expect(await methods["mcp.test"]({ name: "web" })).toEqual(shown("web", "test"));
  expect(await methods["mcp.login.start"]({ name: "web", redirectUrl })).toEqual({
    url: "https://web.example/authorize",
  });
  expect(await methods["mcp.login.finish"]({ name: "web", answer: "code=1" })).toEqual(shown("web", "login"));
  expect(await methods["mcp.logout"]({ name: "web" })).toEqual({ name: "web", wasLoggedIn: true });
  expect(did).toEqual([
    ["approve", "web", "abc"],
    ["forget", "web"],
    ["forget", "files"],
    ["test", "web"],
    ["login", "web", redirectUrl],
    ["finishLogin", "web", "code=1"],
    ["logout", "web"],
  ]);
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
          roots: [{ source: "workspace", path: "/w/hooks", watched: true }],
          shadowed: [{ name: "one", source: "bundled", file: "/b", by: "/w" }],
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

  test("are shown whole, one of them with what it needs, and told apart from what was refused", async () => {
    const { hooks, ...rest } = await stage().methods["hooks.list"]({});
    expect(rest).toEqual({
      enabled: true,
      roots: [{ source: "workspace", path: "/w/hooks" }],
      shadowed: [{ name: "one", source: "bundled", file: "/b", by: "/w" }],
      rejected: [
        { file: "/w/hooks/bad/HOOK.md", reason: "it has no name" },
        { file: "/w/hooks/bad-too/HOOK.md", reason: "it has none either" },
      ],
    });
    const one = {
      name: "one",
      description: "d",
      emoji: null,
      source: "workspace",
      agent: "main",
      events: ["command:new"],
      file: "/w/hooks/one/HOOK.md",
      status: "ready",
      reason: null,
      enabled: true,
      eligible: true,
      counts: { runs: 2, failed: 1, timedOut: 0, dropped: 0, lastAtMs: 5, lastError: "x" },
      notes: [],
    };
    expect(hooks[0]).toEqual(one);
    expect(hooks[4]).toEqual({
      ...one,
      name: "lacking",
      file: "/w/hooks/lacking/HOOK.md",
      status: "unmet",
      reason: "a program is missing",
      eligible: false,
      counts: { runs: 0, failed: 0, timedOut: 0, dropped: 0, lastAtMs: null, lastError: null },
    });
    const needs = [{ kind: "bin", what: "git", satisfied: true }];
    const whole = hook("full", {
      key: "full-key",
      description: "about it",
      emoji: "🪝",
      source: "managed",
      agent: null,
      events: ["session", "message:sent"],
      eligible: false,
      notes: ["n"],
      state: { status: "disabled", reason: "off" },
      homepage: "https://full.example",
      handler: "/w/hooks/full/handler.ts",
      exportName: "run",
      always: true,
      requires: needs,
    });
    const without = hookMethods({
      hooks: { survey: async () => ({ hooks: [hook("one"), whole], refused: [] }) },
      hookCounts: null,
    } as never);
    expect(await without["hooks.info"]({ name: " FULL-KEY " })).toEqual({
      name: "full",
      key: "full-key",
      description: "about it",
      emoji: "🪝",
      source: "managed",
      agent: null,
      events: ["session", "message:sent"],
      file: "/w/hooks/full/HOOK.md",
      status: "disabled",
      reason: "off",
      enabled: false,
      eligible: false,
      counts: null,
      notes: ["n"],
      homepage: "https://full.example",
      handler: "/w/hooks/full/handler.ts",
      export: "run",
      always: true,
      requirements: needs,
    });
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

  test("asks as the agent whose model it is, its fallbacks too, and says whether that one may use tools", async () => {
    const quiet = agent("quiet", {
      model: { primary: "a/one", fallbacks: [] },
      thinkingDefault: "low",
      tools: { deny: ["*"] },
    });
    const able = agent("able", {
      model: { primary: "c/three", fallbacks: ["d/four"] },
      thinkingDefault: "medium",
      tools: {},
    });
    const of = async (id: string, ...agents: readonly AgentConfig[]) => {
      const model = {
        id,
        maxTokens: 9_000,
        reasoning: true,
        async *stream(): AsyncGenerator<ModelEvent> {
          yield { type: "thinking", delta: "hm" };
          yield { type: "end", stop: "stop", usage: { ...usage, costUsd: 0.25 }, content: said("no") };
        },
      } as unknown as Model;
      const { usesTools, thinking, costUsd } = await testModel(model, configOf(...agents), clock);
      return [usesTools, thinking, costUsd];
    };
    const told = (level: string) => ({ level, works: true, shown: true });
    expect(await of("a/one", quiet, able)).toEqual([false, told("low"), 0.25]);
    expect(await of("c/three", quiet, able)).toEqual([true, told("medium"), 0.25]);
    expect(await of("d/four", quiet, able)).toEqual([true, told("medium"), 0.25]);
    // Nobody's model is asked as by the first agent.
    expect(await of("e/five", quiet, able)).toEqual([false, told("low"), 0.25]);
    expect(await of("e/five")).toEqual([true, told("off"), 0.25]);
  });

  test("sends the one tool and the order in words, and gets as many tokens as thinking and the model allow", async () => {
    const asked: ModelRequest[] = [];
    const model = (id: string): Model =>
      ({
        id,
        maxTokens: 9_000,
        reasoning: true,
        async *stream(request: ModelRequest): AsyncGenerator<ModelEvent> {
          asked.push(request);
          yield { type: "end", stop: "stop", usage, content: said("x") };
        },
      }) as unknown as Model;
    const config = (thinking: string) => configOf(agent("main", { thinkingDefault: thinking, tools: {} }));
    await testModel(model("a/one"), config("high"), clock);
    await testModel(model("rehearsal/x"), config("off"), clock);
    const words = (text: string) => [{ role: "user", content: [{ type: "text", text }] }];
    expect(asked[0]).toEqual({
      system: { stable: "You are being tested. Do exactly what you are asked.", volatile: "" },
      messages: words(
        'Call the tool "answer" once with {"word":"parley"}. When it has answered, say the word of its answer and nothing else.',
      ),
      tools: [
        {
          name: "answer",
          description: "Takes the word that you were told.",
          parameters: {
            type: "object",
            properties: { word: { type: "string" } },
            required: ["word"],
            additionalProperties: false,
          },
        },
      ],
      thinking: "high",
      showThoughts: true,
      maxTokens: 4_096,
      cacheKey: "parley-models-test",
    });
    expect(asked[1]).toMatchObject({
      messages: words('!tool answer {"word":"parley"}'),
      thinking: "off",
      maxTokens: 512,
    });
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

  test("of one whose stream has no end is a bug of its own, and leaves no timer", async () => {
    const model = {
      id: "a/one",
      maxTokens: 1_000,
      async *stream(): AsyncGenerator<ModelEvent> {
        yield { type: "text", delta: "hm" };
      },
    } as unknown as Model;
    await expect(testModel(model, configOf(agent("main", { tools: {} })), clock)).rejects.toThrow(
      "a/one ended its stream without an end event",
    );
    expect(clock.armed()).toBe(0);
  });

  test("of one that does all of it", async () => {
    const { result, asked } = await tested([called, said("harbour")]);
    expect(result).toEqual({
      id: "a/one",
      ok: true,
      error: null,
      firstTokenMs: null,
      totalMs: 0,
      toolCalling: true,
      roundTrip: true,
      usesTools: true,
      thinking: { level: "high", works: true, shown: false },
      text: "",
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
