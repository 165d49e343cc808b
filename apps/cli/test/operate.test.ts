// The operator's commands against a gateway that answers as the test says: what is asked, what is shown, in
// words and in JSON.
import { resolve } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { fakeGateway, parley, Refusal, stateFolder } from "./fake-gateway.ts";
import { realGateway } from "./stand-in.ts";

const delivery = {
  id: "turn#1/0",
  conversation: "telegram:default:dm:7",
  cause: "turn#1",
  createdAtMs: 0,
  state: "failed",
  text: "an answer\u001B[2J",
  parts: [
    { state: "sent", attempts: 1, flagged: false, messageId: "5", startedAtMs: 1, reason: null },
    {
      state: "failed",
      attempts: 2,
      flagged: false,
      messageId: null,
      startedAtMs: 2,
      reason: "chat not found",
    },
  ],
};
const row = {
  id: "telegram:default:9",
  conversation: "telegram:default:dm:7",
  sender: "Eve (telegram:7)",
  text: "hi",
  reason: "the model refused",
  receivedAtMs: 0,
};
const lane = { lane: "agent:main:telegram:dm:7", pool: "main", atMs: 0, holder: "boot-1", waiting: 3 };

const sums = {
  turns: 2,
  inputTokens: 1000,
  outputTokens: 20,
  cacheReadTokens: 100,
  cacheWriteTokens: 0,
  costUsd: 0.4,
  unpricedTokens: 7,
};
const used = {
  from: "2026-01-01",
  through: "2026-01-07",
  timeZone: "UTC",
  rows: [{ name: "telegram:7", ...sums }],
  total: sums,
  caps: [
    { agent: "main", over: "day", unit: "usd", used: 5, most: 5, resets: "at midnight (UTC), in 1 h 0 min" },
  ],
};
const model = {
  id: "lab/deep",
  alias: "deep",
  api: "ollama",
  trouble: null,
  contextWindow: 1000,
  maxTokens: 100,
  vision: true,
  reasoning: true,
  thinking: ["off", "low"],
  price: null,
  usedBy: ["main: primary"],
  uncappedFor: ["main"],
};
const tool = {
  id: "exec",
  label: "Exec",
  section: "runtime",
  summary: "Run shell commands",
  effect: "writes",
  groups: ["runtime"],
  profiles: ["coding"],
  status: "denied",
  reason: "a rule",
};
const tested = {
  id: "lab/deep",
  ok: true,
  error: null,
  firstTokenMs: 5,
  totalMs: 9,
  toolCalling: true,
  roundTrip: true,
  usesTools: true,
  thinking: { level: "high", works: true, shown: true },
  text: "",
  inputTokens: 1,
  outputTokens: 2,
  costUsd: null,
};

const session = {
  key: "agent:main:main",
  agent: "main",
  kind: "main",
  epoch: 1,
  createdAtMs: 0,
  updatedAtMs: 0,
  model: null,
  thinking: null,
  reasoning: null,
  working: false,
  inputTokens: 1,
  outputTokens: 2,
};
const device = {
  id: "d1",
  name: "laptop",
  scopes: ["read", "write"],
  peer: "web-1",
  createdAtMs: 0,
  connections: 1,
};

const shows = [
  [
    ["why", "hello", "there"],
    "why",
    { query: "hello there" },
    { words: ["Message    x\u0007"] },
    "Message    x\\u{7}",
  ],
  [["outbox", "list"], "outbox.list", {}, { deliveries: [] }, "Nothing waits and nothing is in trouble."],
  [
    ["outbox", "list", "--troubled", "--lane", "c"],
    "outbox.list",
    { troubled: true, lane: "c" },
    { deliveries: [delivery] },
    "1 of 2 sent",
  ],
  [
    ["outbox", "list"],
    "outbox.list",
    {},
    { deliveries: [delivery] },
    'chat not found\n  "an answer\\u{1b}[2J"',
  ],
  [["outbox", "retry", "x"], "outbox.retry", { id: "x" }, { id: "x~2" }, "It is sent again as x~2."],
  [["outbox", "drop", "x"], "outbox.drop", { id: "x" }, { id: "x" }, "Dropped x."],
  [["dead", "list"], "dead.list", {}, { rows: [] }, "No message is dead."],
  [["dead", "list"], "dead.list", {}, { rows: [row] }, 'from Eve (telegram:7)\n  the model refused\n  "hi"'],
  [["dead", "retry", "x"], "dead.retry", { id: "x" }, { id: "x~2" }, "It is worked on as x~2."],
  [["dead", "drop", "x"], "dead.drop", { id: "x" }, { id: "x" }, "Dropped x."],
  [["lanes"], "lanes.list", { limit: 1000 }, { sessions: [lane], conversations: [] }, "held by boot-1"],
  [
    ["usage", "--by", "person", "--days", "7"],
    "usage",
    { by: "person", days: 7 },
    used,
    "telegram:7      2       1100          20  $0.40*",
  ],
  [
    ["usage", "--by", "model"],
    "usage",
    { by: "model", days: 30 },
    { ...used, rows: [{ name: "lab/draws", ...sums, unpricedTokens: 1120 }] },
    "lab/draws      2       1100          20  $0.40*",
  ],
  [
    ["usage"],
    "usage",
    { by: "agent", days: 30 },
    used,
    "limit of main a day: $5.00 of $5.00, REACHED; resets at midnight",
  ],
  [
    ["models", "list"],
    "models.list",
    {},
    { models: [model] },
    "lab/deep (deep)  [main: primary]\n  1000 tokens, answers of 100; sees images",
  ],
  [
    ["models", "test", "deep"],
    "models.test",
    { id: "deep" },
    tested,
    "tool calling: works, and it goes on with the result",
  ],
  [
    ["tools", "explain", "Exec"],
    "tools.list",
    {},
    { session: "agent:main:main", sandbox: null, reason: null, tools: [tool] },
    "exec (Exec): denied, because a rule",
  ],
  [["sessions", "list"], "sessions.list", { limit: 100 }, { sessions: [] }, "There is no session yet."],
  [
    ["sessions", "list", "--agent", "main"],
    "sessions.list",
    { agent: "main", limit: 100 },
    { sessions: [session] },
    "agent:main:main  since",
  ],
  [
    ["sessions", "show", "agent:main:main"],
    "sessions.show",
    { key: "agent:main:main", limit: 50 },
    { ...session, entries: [{ seq: 1, epoch: 1, turn: "t", type: "user", text: "hi\u0007", atMs: 0 }] },
    "user        hi\\u{7}",
  ],
  [
    ["sessions", "list", "--limit", "7"],
    "sessions.list",
    { limit: 7 },
    {
      sessions: [
        { ...session, working: true },
        { ...session, key: "agent:main:web:dm:1" },
      ],
    },
    "agent:main:web:dm:1  since",
  ],
  [
    ["sessions", "show", "k", "--limit", "3"],
    "sessions.show",
    { key: "k", limit: 3 },
    { ...session, entries: [] },
    "agent:main:main  since",
  ],
  [["sessions", "tree"], "sessions.tree", {}, { sessions: [] }, "No session has sub-agents."],
  [
    ["sessions", "tree", "agent:main:main"],
    "sessions.tree",
    { key: "agent:main:main" },
    {
      sessions: [
        {
          key: "agent:main:subagent:a-1",
          parent: "agent:main:main",
          depth: 1,
          label: "digger",
          task: "dig",
          state: "failed",
          reason: "no spade",
          startedAtMs: 1_000,
          endedAtMs: 8_000,
          tokens: 12,
        },
      ],
    },
    '  "digger"  agent:main:subagent:a-1  failed (no spade), since 1970-01-01T00:00:01.000Z, took 7 s, 12 tokens',
  ],
  [["sessions", "reset", "k"], "sessions.reset", { key: "k" }, session, "begins anew"],
  [["devices", "list"], "devices.list", {}, { devices: [device] }, "d1  laptop  read,write"],
  [
    ["devices", "revoke", "d1"],
    "devices.revoke",
    { id: "d1" },
    { id: "d1", name: "laptop", closed: 2 },
    "laptop is out; 2 connections were closed.",
  ],
  [["devices", "link"], "devices.link", {}, { url: "http://x/#code=1" }, "http://x/#code=1"],
  [
    ["send", "--no-wait", "hi", "you"],
    "chat.send",
    { text: "hi you", idempotencyKey: expect.any(String) as string },
    { id: "web:1", sessionKey: "k", duplicate: false },
    "web:1",
  ],
  [
    ["reload"],
    "reload",
    {},
    {
      outcome: "taken",
      changed: ["logging.level"],
      restarted: ["telegram:default"],
      restartNeeded: ["gateway.port"],
      problems: [],
    },
    "Taken up: logging.level.\nConnected anew: telegram:default.\nWaits for `parley restart`: gateway.port.",
  ],
  [["resume"], "resume", {}, { resumed: true }, "Safe mode is over"],
  [["resume"], "resume", {}, { resumed: false }, "Safe mode was not on"],
  [
    ["backup", "copy.db"],
    "backup",
    { path: resolve("copy.db") },
    { path: "/b/copy.db", bytes: 7 },
    "Wrote /b/copy.db (7 bytes)",
  ],
] as const;

describe("what a command asks and shows", () => {
  test.for(shows)("%j", async ([argv, method, params, payload, words]) => {
    const gateway = await fakeGateway(() => payload);
    const said = await parley(gateway.home, argv);
    expect([said.exitCode, said.err]).toEqual([0, ""]);
    expect(said.out).toContain(words);
    expect(gateway.requests[1]).toMatchObject({ method });
    expect(gateway.requests[1]?.params).toEqual(params);
    expect(JSON.parse((await parley(gateway.home, [...argv, "--json"])).out)).toEqual(payload);
  });

  test.for(shows)(
    "%j, to somebody who wrote it to be taken for another: nothing steers, turns or hides, and no row is made up",
    async ([argv, , , payload]) => {
      const gateway = await fakeGateway(() => poisoned(payload));
      const { out, err } = await parley(gateway.home, argv);
      expect(out + err).not.toMatch(unseen);
      expect(out + err).not.toMatch(/^FORGED/m);
    },
  );

  test.each([
    [{}, 0, "thinking: high, as configured; its thoughts came along"],
    [{ toolCalling: false, roundTrip: null, text: "no" }, 1, 'tool calling: does not work; it said "no"'],
    [{ roundTrip: false }, 1, "it calls, and has no word after the result"],
    [{ toolCalling: false, roundTrip: null, usesTools: false }, 0, "its agent has no tools"],
    [
      {
        thinking: { level: "high", works: false, shown: false },
        error: { kind: "invalid", message: "no effort", status: 400 },
      },
      1,
      "thinking: high is refused (invalid (HTTP 400): no effort)",
    ],
    [
      { ok: false, error: { kind: "auth", message: "wrong key", status: 401 } },
      1,
      "auth (HTTP 401): wrong key",
    ],
  ])("models test ends by whether it works as configured: %j", async (more, exitCode, words) => {
    const gateway = await fakeGateway(() => ({ ...tested, ...more }));
    const said = await parley(gateway.home, ["models", "test", "deep"]);
    expect(said.exitCode).toBe(exitCode);
    expect(said.out).toContain(words);
  });

  test("with --json it is exactly what the gateway said", async () => {
    const gateway = await fakeGateway(() => poisoned({ ...session, entries: [] }));
    expect(JSON.parse((await parley(gateway.home, ["sessions", "show", "k", "--json"])).out)).toEqual(
      poisoned({ ...session, entries: [] }),
    );
  });
});

/** What steers a terminal, turns text around or is not seen, but for line breaks. */
const unseen = /[^\P{Cc}\n]|[\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Every text in it, as somebody might write it who wants to be taken for another. */
function poisoned(value: unknown): unknown {
  if (typeof value === "string")
    return `${value}\u202Eabc\u200B\u2066\uFEFF\u2800\u034F\u001B[31m\u009B2J\rx\nFORGED  row`;
  if (Array.isArray(value)) return value.map(poisoned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, poisoned(each)]));
}

test("a refusal is told in the gateway's words and exits with 1", async () => {
  const gateway = await fakeGateway(() => {
    throw new Refusal("missing", "there is no such delivery");
  });
  expect(await parley(gateway.home, ["outbox", "drop", "x"])).toEqual({
    exitCode: 1,
    out: "",
    err: "there is no such delivery\n",
  });
});

describe("without a gateway", () => {
  test("resume is told how to start one", async () => {
    const { exitCode, err } = await parley(stateFolder("{ gateway: { port: 1 } }"), ["resume"]);
    expect(exitCode).toBe(1);
    expect(err).toContain("Start it with `parley start`.");
  });

  // The other refusals of the gateway's program are those of apps/gateway/test/offline/once.test.ts.
  test("a broken config stops what needs more than the records, as who owns the gateway: exit code 78, the place named once", async () => {
    const home = stateFolder("{\n gateway: { prot: 1 }\n}");
    const { exitCode, err } = await parley(home, ["pair", "approve", "ABCD2345"], { env: realGateway() });
    expect(exitCode).toBe(78);
    expect(err.match(/unknown key/g)).toHaveLength(1);
  });
});

test.each([
  ["y", true],
  [" YES ", true],
  ["", false],
  ["n", false],
  ["yesterday", false],
])("at a terminal %j is whether something is forgotten for good", async (answer, isDone) => {
  const gateway = await fakeGateway(({ params }) => ({
    agent: "main",
    done: (params as { readonly confirm: boolean }).confirm,
    lines: [{ path: "memory/a.md", line: 3, text: "- tea" }],
    history: 2,
    notes: ["copies stay"],
  }));
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const onOut = (soFar: string): void => {
    if (soFar.endsWith("[y/N] ")) input.end(`${answer}\n`);
  };
  const { exitCode, out } = await parley(gateway.home, ["memory", "forget", "tea"], { input, onOut });
  const asks = gateway.requests
    .filter(({ method }) => method === "memory.forget")
    .map(({ params }) => params);
  const asked = (confirm: boolean): object => ({ query: "tea", confirm });
  expect([exitCode, asks]).toEqual([0, isDone ? [asked(false), asked(true)] : [asked(false)]]);
  const end = isDone
    ? "Forgotten: 1 line of notes and 2 stored texts of conversations.\n  copies stay\n"
    : "Nothing is changed. To do it, run it again with --yes.\n";
  expect(out.slice(out.indexOf("[y/N] ") + 6)).toBe(end);
});
