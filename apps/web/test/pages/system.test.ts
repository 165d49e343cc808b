// What an operator reads of the gateway itself: overview, usage, models, tools, skills, MCP servers, nodes,
// backups, updates, logs and the audit, as whole pages with every state. After a wanted change:
// `vitest run --project @parley/web pages/ -u`.
import type { MethodResult } from "@parley/protocol";
import { html } from "lit";
import { describe, expect, test } from "vitest";
import { Activity } from "../../src/pages/activity.ts";
import { Audit } from "../../src/pages/audit.ts";
import { Backups } from "../../src/pages/backups.ts";
import { Logs } from "../../src/pages/logs.ts";
import { McpServers } from "../../src/pages/mcp.ts";
import { Models } from "../../src/pages/models.ts";
import { Nodes } from "../../src/pages/nodes.ts";
import { Overview } from "../../src/pages/overview.ts";
import { Prompt } from "../../src/pages/prompt.ts";
import { Schedules } from "../../src/pages/schedules.ts";
import { Sessions } from "../../src/pages/sessions.ts";
import { Skills } from "../../src/pages/skills.ts";
import { Tools } from "../../src/pages/tools.ts";
import { Update } from "../../src/pages/update.ts";
import { Usage } from "../../src/pages/usage.ts";
import { List } from "../../src/parts/list.ts";
import { linesOf, nowMs, section, showPage } from "./show-page.ts";

const [secondMs, hourMs, dayMs] = [1_000, 3_600_000, 86_400_000];

describe("the overview", () => {
  const status = (more: object = {}) =>
    ({
      state: "ok",
      reasons: [],
      config: { problems: [], restartNeeded: [] },
      version: "1.2.3",
      startedAtMs: nowMs - 5_430_000,
      deadRows: 0,
      deliveriesTroubled: 0,
      channels: [],
      turnsRunning: 1,
      rowsWaiting: 2,
      deliveriesWaiting: 0,
      memoryBytes: 150 * 1_048_576,
      ...more,
    }) as never;
  const day = (name: string, turns: number, costUsd: number): object => ({
    name,
    turns,
    inputTokens: turns * 100,
    outputTokens: turns,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costUsd,
    unpricedTokens: 0,
  });
  const session = (kind: string, agoMs: number, working = false, name: string | null = null): object => ({
    key: `agent:main:${kind}:x`,
    agent: `${kind}s`,
    kind,
    name,
    working,
    updatedAtMs: nowMs - agoMs,
  });
  const quiet = {
    status: status(),
    "approvals.list": { approvals: [], grants: [] },
    "questions.list": { questions: [] },
    "pairing.list": { pending: [], paired: [] },
    "cron.status": { failing: 0, paused: 0 },
    "sessions.list": { sessions: [] },
    usage: { rows: [day("2026-01-01", 1, 0)] },
  } as never;
  const busy = {
    status: status({
      state: "degraded",
      reasons: ["telegram:default is down", "the disk\u202e is full"],
      config: { problems: ["line 3: no such key"], restartNeeded: ["gateway.port", "store.driver"] },
      deadRows: 4,
      deliveriesTroubled: 7,
      channels: (["ok", "degraded", "down", "starting", "stopped", "elsewhere"] as const).map((state) => ({
        channel: "telegram",
        account: state,
        state,
        ...(state === "down" ? { reason: "wrong\u202e token", lastInboundAtMs: nowMs - dayMs } : {}),
        ...(state === "ok" ? { lastInboundAtMs: nowMs - hourMs } : {}),
      })),
    }),
    "approvals.list": { approvals: [{}, {}], grants: [] },
    "questions.list": { questions: [{}] },
    "pairing.list": { pending: [{}, {}, {}, {}, {}], paired: [{}, {}] },
    "cron.status": { failing: 6, paused: 3 },
    "sessions.list": {
      sessions: [
        session("dm", 0, true),
        session("group", hourMs - 1, false, "Garden"),
        session("cron", 0),
        session("subagent", 0),
        session("api", hourMs),
      ],
    },
    usage: { rows: [day("2026-01-02", 4, 0.5), day("2026-01-01", 1, 1)] },
  } as never;
  const oneOfEach = {
    ...(quiet as object),
    status: status({ deadRows: 1, deliveriesTroubled: 1 }),
    "approvals.list": { approvals: [{}], grants: [] },
    "pairing.list": { pending: [{}], paired: [] },
    "cron.status": { failing: 1, paused: 1 },
  } as never;
  const page = async (answers: never, has = (_page: string) => true): Promise<string> =>
    (await showPage(Overview, { at: "#/overview", answers, has })).text();

  test("when all is well, when everything is wrong, and when parts cannot be read", async () => {
    const of = (more: object): never => ({ ...(quiet as object), status: status(more) }) as never;
    await expect(
      section("well", await page(quiet)) +
        section("everything", await page(busy)) +
        section("one of each", await page(oneOfEach)) +
        section("no pages to go to", await page(busy, () => false)) +
        section("only the status answers", await page({ status: status({ state: "draining" }) } as never)) +
        section("safe mode", await page(of({ state: "safe-mode", reasons: ["3 crashes"] }))) +
        section("starting", await page(of({ state: "starting" }))) +
        section(
          "well, but for a restart",
          await page(of({ config: { problems: [], restartNeeded: ["a"] } })),
        ),
    ).toMatchFileSnapshot("shown/overview.txt");
  });

  test("what changed since one looked is new at the next visit, and not at the first", async () => {
    const first = await showPage(Overview, { at: "#/overview", answers: busy });
    expect(await first.text()).toContain("## Lately");
    expect(first.storage.getItem("parley.overview.looked-at")).toBe(String(nowMs));
    const storage = first.storage;
    storage.setItem("parley.overview.looked-at", String(nowMs - hourMs));
    const again = await showPage(Overview, { at: "#/overview", answers: busy, storage });
    const text = await again.text();
    expect(text.slice(text.indexOf("## Since"), text.indexOf("## Channels"))).toBe(
      [
        "## Since you looked",
        "- dm x<#/sessions/agent%3Amain%3Adm%3Ax> dms (ok: working) now{01-05T12:00}",
        "- Garden<#/sessions/agent%3Amain%3Agroup%3Ax> groups (: new) 59 min. ago{01-05T11:00:00.001Z}",
        "- api x<#/sessions/agent%3Amain%3Aapi%3Ax> apis 1 hr. ago{01-05T11:00}",
        "",
      ].join("\n"),
    );
  });
});

describe("usage", () => {
  const amounts = (turns: number, costUsd: number, unpricedTokens = 0) => ({
    turns,
    inputTokens: turns * 1_000,
    outputTokens: turns * 10,
    cacheReadTokens: turns * 100,
    cacheWriteTokens: turns,
    costUsd,
    unpricedTokens,
  });
  const cap = (used: number, most: number, unit: "usd" | "tokens" = "usd") => ({
    agent: `at ${used} of ${most}`,
    over: unit === "usd" ? ("day" as const) : ("month" as const),
    unit,
    used,
    most,
    resets: "tomorrow",
  });
  const answer = (by: string, days: number): MethodResult<"usage"> => ({
    from: "2026-01-01",
    through: "2026-01-03",
    timeZone: "UTC",
    rows:
      by === "day"
        ? [
            { name: "2026-01-01", ...amounts(2, 0) },
            { name: "2026-01-02", ...amounts(1, 0.9999) },
            { name: "2026-01-03", ...amounts(40, 1) },
          ]
        : [{ name: `agent:main:${by}:x`, ...amounts(days, 12.345) }],
    total: amounts(43, 0.00001, by === "day" ? 1 : 0),
    caps:
      by === "day"
        ? [cap(0.79, 1), cap(0.8, 1), cap(1, 1), cap(3, 2), cap(5, 0), cap(999, 1_000, "tokens")]
        : [],
  });
  const answers = {
    usage: ({ by, days }: { by: string; days: number }) => answer(by, days),
  } as never;

  test("by day the newest first, with caps by how much of them is used; by session under its words", async () => {
    const page = await showPage(Usage, { at: "#/usage", answers });
    const byDay = await page.text();
    const none = await showPage(Usage, {
      at: "#/usage?by=agent&days=1",
      answers: { usage: { ...answer("day", 1), rows: [], caps: [], total: amounts(0, 0, 2) } },
    });
    await expect(
      section("by day", byDay) +
        section("by session", await page.go("#/usage?by=session&days=7")) +
        section("by a person", await page.go("#/usage?by=person&days=62")) +
        section("nothing", await none.text()),
    ).toMatchFileSnapshot("shown/usage.txt");
    expect(page.asked).toEqual([
      'usage {"by":"day","days":30}',
      'usage {"by":"day","days":30}',
      'usage {"by":"session","days":7}',
      'usage {"by":"day","days":7}',
      'usage {"by":"person","days":62}',
      'usage {"by":"day","days":62}',
    ]);
    await page.go("#/usage?by=cat&days=8");
    expect(page.asked.slice(-2)).toEqual(['usage {"by":"day","days":30}', 'usage {"by":"day","days":30}']);
  });
});

test("usage is plotted where there are two days to compare, each with its own three plots", async () => {
  const day = (name: string, turns: number, costUsd: number) => ({
    name,
    turns,
    inputTokens: turns * 100,
    outputTokens: turns * 11,
    cacheReadTokens: 7,
    cacheWriteTokens: 0,
    costUsd,
    unpricedTokens: 0,
  });
  const of = async (...rows: readonly ReturnType<typeof day>[]): Promise<readonly string[]> => {
    const answer = { from: "a", through: "b", timeZone: "UTC", rows, total: day("", 0, 0), caps: [] };
    const text = await (
      await showPage(Usage, { at: "#/usage?days=1", answers: { usage: answer } as never })
    ).text();
    return text.split("\n").filter((each) => / a day/.test(each));
  };
  expect(await of()).toEqual([]);
  expect(await of(day("Mon", 3, 0.5))).toEqual([]);
  expect(await of(day("Mon", 3, 0.5), day("Tue", 2, 1))).toEqual([
    "Turns a dayTue 2",
    "Tokens a dayTue 222",
    "Cost a dayTue $1.00",
  ]);
});

test("a list's filter finds rows whatever the case of either, and shows all where it is empty", () => {
  const rows = ["Green TEA", "black tea", "Coffee"];
  const shown = (filter: string): readonly string[] => {
    const list = new List();
    list.parts = {
      label: "Drinks",
      rows,
      columns: [{ label: "name", cell: (row) => row }],
      keyOf: String,
      hrefOf: (row) => `#/${String(row)}`,
      textOf: (row) => `${String(row)} Cup`,
      empty: html`<p>none</p>`,
    };
    list.filter = filter;
    const text = linesOf(list.render());
    return rows.filter((row) => text.includes(row));
  };
  for (const [filter, found] of [
    ["", rows],
    ["  ", rows],
    ["tea", ["Green TEA", "black tea"]],
    [" TEA ", ["Green TEA", "black tea"]],
    ["BLACK", ["black tea"]],
    ["coffee cup", ["Coffee"]],
    ["juice", []],
  ] as const)
    expect(shown(filter), filter).toEqual(found);
});

test("models: who uses each, its price and what is wrong; a try tells what came of it", async () => {
  type Model = MethodResult<"models.list">["models"][number];
  const model = (id: string, more: Partial<Model> = {}): Model => ({
    id,
    alias: null,
    api: "x",
    trouble: null,
    contextWindow: 200_000,
    maxTokens: 8_192,
    vision: true,
    reasoning: true,
    thinking: ["off", "low"],
    price: { input: 1.5, output: 10 },
    usedBy: ["main: primary", "helper: fallback 1"],
    uncappedFor: [],
    ...more,
  });
  const bare = {
    contextWindow: 1_000,
    maxTokens: 2_000,
    vision: false,
    thinking: [],
    price: null,
    usedBy: [],
    uncappedFor: ["main", "helper"],
  };
  const models = [model("a/b"), model("c", { alias: "sea", trouble: "no key", ...bare })];
  let result: object = { ok: true, error: null, totalMs: 1_234, toolCalling: true, costUsd: 0.00123 };
  const answers = { "models.list": { models }, "models.test": () => result } as never;
  const page = await showPage(Models, { at: "#/models", answers });
  const looker = await showPage(Models, { at: "#/models/c", answers, may: ["read"] });
  const none = await showPage(Models, { at: "#/models", answers: { "models.list": { models: [] } } });
  await expect(
    section("the list", await page.text()) +
      section("one", drawerOf(await page.go("#/models/a%2Fb"))) +
      section("in trouble", drawerOf(await page.go("#/models/c"))) +
      section("gone", drawerOf(await page.go("#/models/d"))) +
      section("may only look", drawerOf(await looker.text())) +
      section("none", await none.text()),
  ).toMatchFileSnapshot("shown/models.txt");
  await page.go("#/models/c");
  expect(await page.press("Try it")).toBe("It answers, in 1.2 s, and calls tools; it cost $0.0012.");
  result = { ok: true, error: null, totalMs: 999, toolCalling: false, costUsd: null };
  expect(await page.press("Try it")).toBe("It answers, in 999 ms, but calls no tools.");
  result = { ok: false, error: { kind: "auth", message: "wrong key" }, totalMs: 1, toolCalling: false };
  expect(await page.press("Try it")).toBe("It does not work: wrong key");
  expect(page.asked.at(-1)).toBe('models.test {"id":"c"}');
});

test("tools: which are there and why the others are not; the emergency stop tells what it found", async () => {
  type Tool = MethodResult<"tools.list">["tools"][number];
  const tool = (id: string, status: Tool["status"], more: Partial<Tool> = {}): Tool => ({
    id,
    label: `Tool ${id}`,
    section: "files",
    profiles: ["full", "coding"],
    groups: ["group:fs", "files"],
    effect: "reads",
    summary: `does ${id}`,
    status,
    reason: null,
    ...more,
  });
  const tools = [
    tool("read", "ready"),
    tool("write", "removed", { effect: "writes", reason: "the rule tools.deny\u202e" }),
    tool("message", "unavailable", { effect: "sends", reason: "no channel", profiles: [] }),
  ];
  const sessions = [
    { key: "agent:main:telegram:dm:7", name: null },
    { key: "agent:main:main", name: "Mine" },
  ];
  let isHeld = true;
  const answers = {
    "tools.list": ({ session }: { session?: string }) => ({
      session: session ?? "agent:main:web:dm:1",
      tools,
      sandbox: session === undefined ? null : "docker",
      reason: session === undefined ? "everything is denied" : null,
    }),
    "sessions.list": { sessions },
    "tools.hold": () => ({ held: isHeld }),
    "tools.resume": () => ({ resumed: isHeld }),
  } as never;
  const page = await showPage(Tools, { at: "#/tools", answers });
  const all = await page.text();
  const looker = await showPage(Tools, { at: "#/tools", answers, may: ["read"] });
  await expect(
    section("a session that the list has not", all) +
      section("another session", await page.go("#/tools?session=agent%3Amain%3Amain")) +
      section("ready", drawerOf(await page.go("#/tools/read?session=agent%3Amain%3Amain"))) +
      section("removed", drawerOf(await page.go("#/tools/write"))) +
      section("unavailable", drawerOf(await page.go("#/tools/message"))) +
      section("gone", drawerOf(await page.go("#/tools/none"))) +
      section("may only look", await looker.text()),
  ).toMatchFileSnapshot("shown/tools.txt");
  expect(await page.press("Stop all tools")).toBe("No tool starts any more.");
  expect(await page.press("Let tools run")).toBe("Tools run again.");
  isHeld = false;
  expect(await page.press("Stop all tools")).toBe("They were stopped already.");
  expect(await page.press("Let tools run")).toBe("They were not stopped.");
  expect(page.asked.slice(-4)).toEqual([
    "tools.hold {}",
    "tools.resume {}",
    "tools.hold {}",
    "tools.resume {}",
  ]);
});

test("skills: each state and source, what one needs, and those that are not used", async () => {
  type Skill = MethodResult<"skills.list">["skills"][number];
  const skill = (name: string, status: Skill["status"], more: Partial<Skill> = {}): Skill => ({
    name,
    description: `about ${name}`,
    source: "workspace",
    file: `/ws/skills/${name}/SKILL.md`,
    status,
    reason: null,
    command: null,
    userInvocable: true,
    modelInvocable: true,
    tool: null,
    emoji: null,
    notes: [],
    ...more,
  });
  const skills = [
    skill("one", "ready", { command: "cmd-one", emoji: "🌱" }),
    skill("two", "disabled", { source: "managed", reason: "switched off" }),
    skill("three", "unmet", { source: "bundled", reason: "no git" }),
    skill("four", "not allowed", { source: "extra" }),
  ];
  const requirements = (["os", "bin", "anyBins", "env", "config"] as const).map((kind, at) => ({
    kind,
    what: `${kind} x`,
    satisfied: at % 2 === 0,
  }));
  const info = ({ name }: { name: string }): object => ({
    ...skills.find((each) => each.name === name),
    description: `all about ${name}`,
    key: `key-${name}`,
    homepage: name === "one" ? "https://example.org" : null,
    primaryEnv: null,
    always: false,
    requirements: name === "one" ? requirements : [],
    warnings: name === "one" ? ["looks odd"] : [],
    notes: name === "one" ? ["left out: x"] : [],
    shadows: [],
  });
  const list = {
    agent: "helper",
    roots: [],
    skills,
    shadowed: [{ name: "one", source: "bundled", file: "/b/one", by: "workspace" }],
    rejected: [{ source: "extra", file: "/x/bad", reason: "no name" }],
    cut: ["/huge"],
  };
  const answers = {
    "skills.list": list,
    "agents.list": { agents: [{ id: "main" }, { id: "helper" }] },
    "skills.info": info,
  } as never;
  const page = await showPage(Skills, { at: "#/skills?agent=helper", answers });
  const plain = await showPage(Skills, {
    at: "#/skills/five",
    answers: {
      "skills.list": { ...list, shadowed: [], rejected: [], cut: [] },
      "agents.list": { agents: [{ id: "main" }] },
    } as never,
  });
  await expect(
    section("the list", await page.text()) +
      section("one", drawerOf(await page.go("#/skills/one?agent=helper"), "## 🌱")) +
      section("three", drawerOf(await page.go("#/skills/three"))) +
      section("one agent, and a skill that is not there", await plain.text()),
  ).toMatchFileSnapshot("shown/skills.txt");
  expect(page.asked).toContain('skills.info {"name":"one","agent":"helper"}');
  expect(page.asked.at(-1)).toBe('skills.info {"name":"three"}');
});

test("MCP servers: what waits is shown whole with what changed, and approved by its code", async () => {
  type Server = MethodResult<"mcp.list">["servers"][number];
  const tool = (name: string, description: string, readOnly = false) => ({
    name,
    tool: `files_${name}`,
    description,
    schema: { type: "object" },
    readOnly,
  });
  const server = (name: string, more: Partial<Server> = {}): Server => ({
    name,
    enabled: true,
    transport: "stdio",
    target: `run-${name} \u202e`,
    state: "running",
    reason: null,
    version: `v ${name}`,
    pid: 1,
    starts: 1_000 * name.length,
    tools: [],
    waiting: [],
    code: "",
    leftOut: [],
    listedAtMs: nowMs - name.length * hourMs,
    ...more,
  });
  const servers = [
    server("files", {
      tools: [tool("read", "reads a file", true), tool("write", "writes")],
      waiting: [
        { ...tool("new", "fresh"), before: null },
        { ...tool("old", "says other"), before: tool("old", "said this") },
      ],
      code: "the-code",
      leftOut: [{ name: "bad name", reason: "too long" }],
    }),
    server("asleep", { state: "stopped", version: null, listedAtMs: null, transport: "http" }),
    server("begins", { state: "starting" }),
    server("broken", { state: "failed", reason: "exit 1" }),
    server("off", { enabled: false }),
  ];
  const answers = {
    "mcp.list": { servers },
    "mcp.approve": { name: "files", tools: ["a", "b", "c"] },
    "mcp.test": ({ name }: { name: string }) =>
      name === "broken" ? servers[3] : server(name, { tools: [tool("a", "b")] }),
    "mcp.forget": ({ name }: { name: string }) => ({ name, forgotten: name === "files" }),
  } as never;
  const page = await showPage(McpServers, { at: "#/mcp", answers });
  const all = await page.text();
  const ones: string[] = [];
  for (const { name } of servers) ones.push(section(name, drawerOf(await page.go(`#/mcp/${name}`))));
  const looker = await showPage(McpServers, { at: "#/mcp/files", answers, may: ["read"] });
  await expect(
    section("the list", all) +
      ones.join("") +
      section("gone", drawerOf(await page.go("#/mcp/none"))) +
      section("may only look", drawerOf(await looker.text())),
  ).toMatchFileSnapshot("shown/mcp.txt");
  // Who may only approve starts nothing, who may only administer approves nothing.
  const buttons = async (scope: "approve" | "admin"): Promise<readonly string[]> => {
    const other = await showPage(McpServers, { at: "#/mcp/files", answers, may: ["read", scope] });
    return [...(await other.text()).matchAll(/\[([^|\]]+) \|/g)].map(([, label = ""]) => label);
  };
  expect([await buttons("approve"), await buttons("admin")]).toEqual([
    ["Approve 2 tools", "Forget"],
    ["Try it"],
  ]);
  await page.go("#/mcp/files");
  expect(await page.press("Approve 2 tools")).toBe("3 tools approved.");
  expect(await page.press("Try it")).toBe("running, 1 tool");
  expect(await page.press("Forget")).toBe("Forgotten.");
  await page.go("#/mcp/broken");
  expect(await page.press("Try it")).toBe("exit 1");
  expect(await page.press("Forget")).toBe("Nothing was known of it.");
  const list = "mcp.list {}";
  expect(page.asked).toEqual([
    list,
    'mcp.approve {"name":"files","code":"the-code"}',
    list,
    'mcp.test {"name":"files"}',
    list,
    'mcp.forget {"name":"files"}',
    list,
    'mcp.test {"name":"broken"}',
    list,
    'mcp.forget {"name":"broken"}',
    list,
  ]);
});

test("nodes: what each does, for whom it receives, and how long one is silent", async () => {
  type Node = MethodResult<"nodes.list">["nodes"][number];
  const node = (boot: string, more: Partial<Node> = {}): Node => ({
    node: `host-${boot}`,
    boot,
    role: "all",
    version: `1.2.${boot}`,
    pid: boot.codePointAt(0) ?? 0,
    url: `http://h:${boot}`,
    startedAtMs: nowMs - (boot === "a" ? 1 : 3) * dayMs,
    state: "running",
    turns: boot === "a" ? 1 : 11,
    deliveries: boot === "a" ? 2 : 22,
    leads: ["telegram:default", "discord:b"],
    up: true,
    silentMs: 0,
    ...more,
  });
  const nodes = [
    node("a"),
    node("b", { role: "edge", state: "draining", turns: 0 }),
    node("c", { role: "worker", up: false, silentMs: 90_000, leads: [] }),
  ];
  const page = await showPage(Nodes, { at: "#/nodes", answers: { "nodes.list": { nodes } } });
  await expect(
    section("the list", await page.text()) +
      section("one", drawerOf(await page.go("#/nodes/a"))) +
      section("silent", drawerOf(await page.go("#/nodes/c"))) +
      section("gone", drawerOf(await page.go("#/nodes/d"))),
  ).toMatchFileSnapshot("shown/nodes.txt");
});

test("backups: those made by themselves, one made by hand, and why one could not be made", async () => {
  const kept = {
    everyHours: 24,
    keep: 7,
    folder: "/backups",
    backups: [
      { path: "/backups/b.db", name: "b.db", bytes: 1_025, atMs: nowMs - dayMs, sealed: true },
      { path: "/backups/a.db", name: "a.db", bytes: 1_024, atMs: nowMs - 2 * dayMs, sealed: false },
    ],
  };
  let end = (): void => {};
  const page = await showPage(Backups, {
    at: "#/backups",
    answers: {
      "backups.list": kept,
      backup: async ({ path }: { path: string }) => {
        if (path === "/there") throw page.refusal("invalid", "the file is there already");
        await new Promise<void>((resolve) => (end = resolve));
        return { path, bytes: 1_024_001 };
      },
    } as never,
  });
  const none = await showPage(Backups, {
    at: "#/backups",
    answers: { "backups.list": { ...kept, everyHours: null, backups: [] } } as never,
  });
  const first = await page.text();
  const refused = await page.submit("Back up now", { path: "/there", passphrase: "" });
  const busy = await page.submit("Back up now", { path: "/new.db", passphrase: "secret" });
  end();
  const made = await page.text();
  await expect(
    section("kept", first) +
      section("refused", refused) +
      section("while one is made", busy) +
      section("made", made) +
      section("none by themselves", await none.text()),
  ).toMatchFileSnapshot("shown/backups.txt");
  expect(page.asked.filter((each) => each.startsWith("backup "))).toEqual([
    'backup {"path":"/there"}',
    'backup {"path":"/new.db","passphrase":"secret"}',
  ]);
});

describe("updates", () => {
  type Check = MethodResult<"update.check">;
  const check = (more: Partial<Check> = {}): Check => ({
    installed: { kind: "npm", version: "1.2.3", root: "/opt/parley" },
    newest: "1.3.0",
    update: true,
    available: ["1.3.0", "1.2.3", "1.1.0"],
    byHand: null,
    problem: null,
    last: null,
    ...more,
  });
  const shown = async (here: Partial<Check>, found?: Partial<Check>, has = true): Promise<string> => {
    const page = await showPage(Update, {
      at: "#/update",
      has: () => has,
      answers: {
        status: { version: "1.2.3" } as never,
        "update.check": ({ look }) => check(look === false ? here : found),
      },
    });
    if (found !== undefined) await page.press("Look for a newer version");
    return page.text();
  };

  test("the version that runs, each end of the last update, and every answer of the release source", async () => {
    const last = (state: string, reason: string | null = null): Partial<Check> => ({
      last: { from: "1.0.0", to: "1.2.3", state, reason },
    });
    const states = ["preparing", "swapping", "trying", "going-back", "done", "went-back", "failed", "odd"];
    const lasts: string[] = [];
    for (const state of states)
      lasts.push(section(`last: ${state}`, await shown(last(state, state === "failed" ? "no room" : null))));
    await expect(
      section("nobody looked", await shown({ installed: null })) +
        lasts.join("") +
        section("there is one", await shown({}, {})) +
        section("the newest runs", await shown({}, { update: false, newest: "1.2.3" })) +
        section("one alone", await shown({}, { available: ["1.3.0"] })) +
        section("by hand", await shown({}, { byHand: "apt upgrade" })) +
        section("by hand, none newer", await shown({}, { byHand: "apt upgrade", update: false })) +
        section("while one runs", await shown(last("trying"), {})) +
        section("after one failed", await shown(last("failed"), {})) +
        section("no source", await shown({}, { problem: "no update.url" })) +
        section("no source, no config page", await shown({}, { problem: "no update.url" }, false)) +
        section("nothing there", await shown({}, { newest: null })),
    ).toMatchFileSnapshot("shown/update.txt");
  });

  test("how it was installed is said in words, and a kind without words as it is called", async () => {
    const kinds = ["checkout", "npm", "npx", "tarball", "deb", "container", "folder", "unheard-of"];
    const said: (string | undefined)[] = [];
    for (const kind of kinds) {
      const installed = { kind, version: "1.2.3", root: `/at/${kind}` } as never;
      const [, how] = /Installed: \| (.*)\nFolder: \| \[copy (.*)\]/.exec(await shown({ installed })) ?? [];
      said.push(how);
    }
    expect(said).toEqual([
      "as a checkout of its repository",
      "by npm",
      "by npx, for each run",
      "from an archive",
      "as a package of the system",
      "as a container",
      "as a folder that was made by hand",
      "unheard-of",
    ]);
  });

  test("nothing is asked of the release source before somebody does; an update names no version for the newest", async () => {
    const page = await showPage(Update, {
      at: "#/update",
      answers: {
        status: { version: "1.2.3" } as never,
        "update.check": () => check(),
        "update.run": { asked: true },
      },
    });
    await page.text();
    await page.pass(3_000);
    expect(page.asked.filter((each) => each.startsWith("update"))).toEqual([
      'update.check {"look":false}',
      'update.check {"look":false}',
    ]);
    await page.press("Look for a newer version");
    expect(await page.press("Update to 1.3.0")).toBe("It has begun. How it goes stands above.");
    expect(page.asked.slice(-4)).toEqual([
      "update.check {}",
      "update.run {}",
      "status {}",
      'update.check {"look":false}',
    ]);
  });
});

describe("logs", () => {
  const line = (level: unknown, msg: string, more: object = {}): string =>
    JSON.stringify({ level, time: nowMs - secondMs, pid: 1, hostname: "h", msg, ...more });
  const lines = [
    line(20, "a debug"),
    line(30, "an info", { turn: "t1", other: { a: 1 } }),
    line(40, "a warning", { long: "x".repeat(300), rowId: 7 }),
    line(50, "an error", {
      deliveryId: "d1",
      lines: "a\nb",
      deep: Array.from({ length: 40 }, (_, at) => at),
    }),
    line("warn", "by a word", { time: "2026-01-05T11:00:00.000Z" }),
    line("fatal", "a fatal"),
    line("odd", "an odd level\u202e", { time: "never" }),
    line(29, "below info"),
    line(49, "below error"),
    line(39, "below warning"),
    "no JSON at all",
    "[1]",
    "7",
    JSON.stringify({ level: 30, msg: 5 }),
  ];
  const answers = { "logs.tail": { lines, following: true } } as never;

  test("the newest first, levels by word or number, each field, and the story of the message it names", async () => {
    const page = await showPage(Logs, { at: "#/logs", answers });
    const all = await page.text();
    const ones: string[] = [];
    for (const message of ["an info", "a warning", "an error", "an odd level", "no JSON at all"]) {
      const [, address = ""] = new RegExp(`^\\| ${message}.*?<(#/logs/\\w+)>`, "m").exec(all) ?? [];
      ones.push(section(message, drawerOf(await page.go(address))));
    }
    await expect(
      section("the list", all) +
        ones.join("") +
        section("about one turn", await page.go("#/logs?about=t1")) +
        section("gone", drawerOf(await page.go("#/logs/99"))),
    ).toMatchFileSnapshot("shown/logs.txt");
    expect(page.asked).toEqual(['logs.tail {"lines":500,"follow":true}']);
  });

  test("a line has the same address when it is read again, a twin one of its own, and the lines about one thing are found", async () => {
    const about = (turn: string): string => line(30, "a twin", { turn, rows: ["r1", "r2"] });
    const both = { "logs.tail": { lines: [about("t1"), about("t1"), about("t2")], following: true } };
    const read = async (): Promise<readonly string[]> => {
      const page = await showPage(Logs, { at: "#/logs", answers: both });
      return [...(await page.text()).matchAll(/<(#\/logs\/[^>]+)>/g)].map(([, to = ""]) => to);
    };
    const addresses = await read();
    expect(new Set(addresses).size).toBe(3);
    expect(await read()).toEqual(addresses);
    const page = await showPage(Logs, { at: addresses[1] ?? "", answers: both });
    const links = [...drawerOf(await page.text()).matchAll(/(All lines with the same \w+)<(.+?)>/g)];
    expect(links.map(([, words]) => words)).toEqual([
      "All lines with the same turn",
      "All lines with the same rows",
      "All lines with the same rows",
    ]);
    expect((await page.go(links[0]?.[2] ?? "")).match(/^\| a twin/gm)).toHaveLength(2);
    expect(await page.searched()).toHaveLength(2);
  });

  test("what comes stands before what was there, and the oldest go at three thousand", async () => {
    const many = Array.from({ length: 2_999 }, (_, at) => `line ${at}`);
    const page = await showPage(Logs, {
      at: "#/logs",
      answers: { "logs.tail": { lines: many, following: true } },
    });
    const ends = async (): Promise<readonly unknown[]> => {
      const held = await page.searched();
      return [held.length, held[0], held[1], held.at(-1)];
    };
    expect(await ends()).toEqual([2_999, "line 2998", "line 2997", "line 0"]);
    page.tell("log.line", { line: "the newest" });
    expect(await ends()).toEqual([3_000, "the newest", "line 2998", "line 0"]);
    page.tell("log.line", { line: "one too many" });
    expect(await ends()).toEqual([3_000, "one too many", "the newest", "line 1"]);
    // Read again it is what the gateway has, and whoever left hears no more.
    await page.pass(86_400_000);
    expect(await ends()).toEqual([2_999, "line 2998", "line 2997", "line 0"]);
    expect(page.asked).toEqual([1, 2].map(() => 'logs.tail {"lines":500,"follow":true}'));
    page.leave();
    page.tell("log.line", { line: "to nobody" });
    expect((await ends())[0]).toBe(2_999);
    page.comeBack();
    page.tell("log.line", { line: "the newest" });
    // The first "line 1" goes when its twin comes: the next one has an address of its own all the same.
    for (const twin of ["line 1", "line 2", "line 1"]) page.tell("log.line", { line: twin });
    const [newest, , older] = [...(await page.text()).matchAll(/<(#\/logs\/[^>]+)>/g)].map(([, to]) => to);
    expect(newest).not.toBe(older);
  });
});

test("the audit: the newest first, what was refused with its code, and two of one instant apart", async () => {
  const record = (method: string, agoMs: number, more: object = {}): object => ({
    atMs: nowMs - agoMs,
    method,
    by: "device:d1",
    client: `web\u202e ${agoMs}`,
    address: `127.0.0.${agoMs % 255}`,
    about: { key: "agent:main", count: 2, is: true, names: ["a", "b"] },
    ok: true,
    ...more,
  });
  const records = [
    record("restart", dayMs, { about: {}, by: "gateway-token" }),
    record("config.set", 2_000, { ok: false, code: "invalid" }),
    record("config.set", 2_000, { ok: false, about: { second: "yes" } }),
  ];
  const page = await showPage(Audit, {
    at: "#/audit",
    answers: {
      "audit.list": { records, more: false },
      "devices.list": {
        devices: [
          { id: "d2", name: "other" },
          { id: "d1", name: "Ada's phone" },
        ],
      },
    } as never,
  });
  const key = `${nowMs - 2_000}-config.set`;
  await expect(
    section("the list", await page.text()) +
      section("the first", drawerOf(await page.go(`#/audit/${key}-1`))) +
      section("the second", drawerOf(await page.go(`#/audit/${key}-2`))) +
      section("gone", drawerOf(await page.go(`#/audit/${key}-3`))),
  ).toMatchFileSnapshot("shown/audit.txt");
});

test("where there is nothing, each page says so, why, and what brings something", async () => {
  const nothing: readonly (readonly [string, Parameters<typeof showPage>[0], object])[] = [
    ["activity", Activity, { "sessions.list": { sessions: [] } }],
    ["audit", Audit, { "audit.list": { records: [] }, "devices.list": { devices: [] } }],
    ["logs", Logs, { "logs.tail": { lines: [], following: true } }],
    ["mcp", McpServers, { "mcp.list": { servers: [] } }],
    ["nodes", Nodes, { "nodes.list": { nodes: [] } }],
    ["schedules", Schedules, { "cron.list": { jobs: [] } }],
    ["sessions", Sessions, { "sessions.list": { sessions: [] }, "sessions.tree": { sessions: [] } }],
    [
      "skills",
      Skills,
      {
        "skills.list": { agent: "main", roots: [], skills: [], shadowed: [], rejected: [], cut: [] },
        "agents.list": { agents: [{ id: "main" }] },
      },
    ],
    [
      "tools",
      Tools,
      {
        "tools.list": { session: "agent:main:main", tools: [], sandbox: null, reason: null },
        "sessions.list": { sessions: [] },
      },
    ],
    [
      "prompt",
      Prompt,
      {
        "sessions.list": { sessions: [] },
        "prompt.explain": {
          session: "agent:main:main",
          turn: null,
          stableHash: "h",
          moved: null,
          explanation: {
            mode: "full",
            sections: [
              { id: "who", zone: "stable", chars: 3, tokens: 0, hash: "w", included: true, reason: "always" },
            ],
            files: [],
            tools: [],
            tokens: 0,
            stableTokens: 0,
            volatileTokens: 0,
            estimator: "letters",
          },
        },
        "prompt.show": { text: "who", boundary: 3 },
      },
    ],
  ];
  const shown: string[] = [];
  for (const [path, Kind, answers] of nothing) {
    const page = await showPage(Kind, { at: `#/${path}`, answers: answers as never, may: ["read", "admin"] });
    shown.push(section(path, await page.text()));
  }
  await expect(shown.join("")).toMatchFileSnapshot("shown/nothing.txt");
});

/** The drawer alone: from its last heading, or from the words given. */
function drawerOf(text: string, from = "\n## "): string {
  return text.slice(text.lastIndexOf(from) + (from.startsWith("\n") ? 1 : 0));
}
