// What every command asks of a running gateway, with each of its options; what the lists of an operator say
// about what is open, decided, held, gone or missing.
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { fakeGateway, parley, Refusal } from "./fake-gateway.ts";

const any = expect.anything() as unknown;

test.for([
  [["pair", "list"], "pairing.list", {}],
  [["pair", "approve", "ABCD2345"], "pairing.approve", { code: "ABCD2345" }],
  [["pair", "revoke", "p1"], "pairing.revoke", { id: "p1" }],
  [["approvals", "list"], "approvals.list", { all: false }],
  [["approvals"], "approvals.list", { all: false }],
  [["questions"], "questions.list", { all: false }],
  [["questions", "--all"], "questions.list", { all: true }],
  [["approvals", "list", "--all"], "approvals.list", { all: true }],
  ...(["once", "always", "deny"] as const).map(
    (decision) =>
      [["approvals", "resolve", "a1", decision], "approvals.resolve", { id: "a1", decision }] as const,
  ),
  [["approvals", "revoke", "g1"], "approvals.revoke", { id: "g1" }],
  [["skills", "list"], "skills.list", {}],
  [["skills", "list", "--agent", "home"], "skills.list", { agent: "home" }],
  [["skills", "check"], "skills.list", {}],
  [["skills", "check", "--agent", "home"], "skills.list", { agent: "home" }],
  [["skills", "info", "notes"], "skills.info", { name: "notes" }],
  [["skills", "info", "notes", "--agent", "home"], "skills.info", { name: "notes", agent: "home" }],
  [["hooks", "list"], "hooks.list", {}],
  [["hooks", "check"], "hooks.list", {}],
  [["hooks", "info", "teller"], "hooks.info", { name: "teller" }],
  [["hooks", "enable", "teller"], "hooks.enable", { name: "teller" }],
  [["hooks", "disable", "teller"], "hooks.disable", { name: "teller" }],
  [["skills", "install", "x"], "skills.install", { path: resolve("x"), force: false }],
  [["skills", "install", "x", "--force"], "skills.install", { path: resolve("x"), force: true }],
  [["tools", "list"], "tools.list", {}],
  [["tools", "list", "--session", "k"], "tools.list", { session: "k" }],
  [["tools", "explain", "exec", "--session", "k"], "tools.list", { session: "k" }],
  [["tools", "hold"], "tools.hold", {}],
  [["tools", "resume"], "tools.resume", {}],
  [["prompt", "show"], "prompt.show", {}],
  [["prompt", "show", "--session", "k", "--turn", "3"], "prompt.show", { session: "k", turn: 3 }],
  [["prompt", "explain", "--turn", "last"], "prompt.explain", { turn: -1 }],
  [["prompt", "explain", "--turn", "-2"], "prompt.explain", { turn: -2 }],
  [["prompt", "diff"], "prompt.diff", {}],
  [["prompt", "diff", "--turn", "last"], "prompt.diff", { turn: -1 }],
  [["prompt", "diff", "--session", "k", "--with", "l"], "prompt.diff", { session: "k", with: "l" }],
  [["models", "test"], "models.test", {}],
  [["nodes"], "nodes.list", {}],
  [["resume"], "resume", {}],
  [["sessions", "forget", "k"], "sessions.forget", { key: "k" }],
  [["devices", "mint", "phone"], "devices.mint", { name: "phone", scopes: ["read"] }],
  [
    ["devices", "mint", "phone", "--scopes", "read,approve"],
    "devices.mint",
    { name: "phone", scopes: ["read", "approve"] },
  ],
  [
    ["devices", "pair", "--name", "laptop", "--grant", "run,notify"],
    "devices.pair",
    { name: "laptop", grants: ["notify", "run"] },
  ],
  [["devices", "unlock"], "devices.unlock", {}],
  [["outbox", "list", "--lane", "c"], "outbox.list", { lane: "c" }],
  [["outbox", "show", "x"], "outbox.show", { id: "x" }],
  [
    ["channels", "test", "telegram:-5:topic:7", "is it", "you?", "--account", "telegram:work"],
    "channels.test",
    {
      to: "telegram:-5:topic:7",
      channel: "telegram",
      account: "work",
      text: "is it you?",
      idempotencyKey: any,
    },
  ],
  [["send", "--no-wait", " hi  you "], "chat.send", { text: "hi  you", idempotencyKey: any }],
  [
    ["send", "--no-wait", "--thread", "t", "hi"],
    "chat.send",
    { text: "hi", thread: "t", idempotencyKey: any },
  ],
] as const)("%j asks %s with %j", async ([argv, method, params]) => {
  const gateway = await fakeGateway(() => {
    throw new Refusal("missing", "asked");
  });
  expect(await parley(gateway.home, argv)).toEqual({ exitCode: 1, out: "", err: "asked\n" });
  expect(gateway.requests.slice(1).map((request) => [request.method, request.params])).toEqual([
    [method, params],
  ]);
});

test.each(["0", "1.5", "soon", ""])("a turn of the prompt called %j is a mistake", async (turn) => {
  const gateway = await fakeGateway(() => ({}));
  const { exitCode, err } = await parley(gateway.home, ["prompt", "show", "--turn", turn]);
  expect([exitCode, gateway.requests.length <= 1]).toEqual([2, true]);
  expect(err).toContain("--turn takes the number of a turn");
});

const node = {
  node: "one",
  boot: "b",
  role: "all",
  version: "1.2.3",
  pid: 7,
  url: "http://127.0.0.1:1/",
  startedAtMs: 0,
  state: "running",
  turns: 2,
  deliveries: 3,
  leads: ["telegram:default", "discord:default"],
  up: true,
  silentMs: 1_400,
};
const approval = {
  id: "a1",
  state: "open",
  session: "k",
  agent: "main",
  tool: "exec",
  shown: "git push\nto origin",
  reason: "it writes",
  always: true,
  askedBy: [],
  asked: "Eve\nand Bob",
  createdAtMs: 0,
  expiresAtMs: 60_000,
  log: [],
};
const lane = { lane: "busy", pool: "main", atMs: 60_000, holder: "boot-1", waiting: 0 };
const skill = {
  name: "notes",
  description: "Take notes.",
  source: "managed",
  file: "/s/notes/SKILL.md",
  status: "ready",
  reason: null,
  command: "notes",
  userInvocable: true,
  modelInvocable: true,
  tool: null,
  notes: [],
  emoji: null,
};
const info = {
  ...skill,
  key: "notes",
  homepage: null,
  primaryEnv: null,
  always: false,
  requirements: [],
  warnings: [],
  shadows: [],
};
const skills = {
  agent: "main",
  roots: [],
  skills: [
    skill,
    { ...skill, name: "long", status: "unmet", reason: "it lacks jq", notes: ["no version"] },
    { ...skill, name: "off", status: "disabled", reason: "switched off" },
  ],
  shadowed: [{ name: "old", source: "bundled", file: "/b/old/SKILL.md", by: "/s/old/SKILL.md" }],
  rejected: [{ file: "/s/bad/SKILL.md", reason: "it has no name" }],
  cut: ["/s"],
};

test.for([
  [
    ["nodes"],
    {
      nodes: [
        node,
        { ...node, node: "two", state: "draining", leads: [], turns: 0, deliveries: 1 },
        { ...node, node: "three", up: false, silentMs: 12_600 },
        { ...node, node: "four", up: false, state: "gone", role: "worker", silentMs: 0 },
      ],
    },
    0,
    [
      "one  (all)  running  2 turns, 3 deliveries  leads telegram:default, discord:default  http://127.0.0.1:1/  pid 7, 1.2.3",
      "two  (all)  draining  0 turns, 1 deliveries  http://127.0.0.1:1/  pid 7, 1.2.3",
      "three  (all)  not heard of, silent for 13 s  http://127.0.0.1:1/  pid 7, 1.2.3",
      "four  (worker)  gone, silent for 0 s  http://127.0.0.1:1/  pid 7, 1.2.3",
    ],
  ],
  [["nodes"], { nodes: [] }, 0, ["No node has run on this store within a day."]],
  [
    ["approvals", "list", "--all"],
    {
      approvals: [
        approval,
        {
          ...approval,
          id: "a2",
          state: "allowed",
          shown: "ls",
          asked: "Eve",
          log: [{ atMs: 5_000, what: "once", by: "telegram:5" }],
        },
        { ...approval, id: "a3", always: false, asked: "Eve", shown: "ls" },
      ],
      grants: [
        { id: "g1", agent: "main", argv: ["git", "push it"], cwd: "/w", sandbox: "off", by: "telegram:5" },
      ],
    },
    0,
    [
      "a1  open until 1970-01-01T00:01:00.000Z, may be allowed always  agent main",
      "  Eve",
      "  and Bob",
      "  why: it writes",
      "  git push",
      "  to origin",
      "a2  allowed  agent main",
      "  Eve",
      "  why: it writes",
      "  ls",
      "  1970-01-01T00:00:05.000Z once by telegram:5",
      "a3  open until 1970-01-01T00:01:00.000Z  agent main",
      "  Eve",
      "  why: it writes",
      "  ls",
      "Decide with: parley approvals resolve ID once|always|deny",
      "Allowed for good:",
      'g1  main  ["git","push it"]  in /w, sandbox off; by telegram:5',
    ],
  ],
  [
    ["approvals", "list", "--all"],
    { approvals: [{ ...approval, state: "denied", asked: "Eve", shown: "ls" }], grants: [] },
    0,
    ["a1  denied  agent main", "  Eve", "  why: it writes", "  ls"],
  ],
  [["approvals", "list"], { approvals: [], grants: [] }, 0, ["Nothing waits for a decision."]],
  [["approvals", "list", "--all"], { approvals: [], grants: [] }, 0, ["Nothing was asked for."]],
  [
    ["lanes"],
    {
      sessions: [
        lane,
        { ...lane, lane: "due", holder: null, waiting: 2 },
        { ...lane, lane: "parked", holder: null, atMs: null, waiting: 1 },
        { ...lane, lane: "held", atMs: null },
        { ...lane, lane: "quiet", holder: null, atMs: null },
      ],
      conversations: [{ ...lane, lane: "still", holder: null, atMs: null }],
    },
    0,
    [
      "Sessions: 4 with work, 1 at rest",
      "  busy  (main)  0 waiting  leased until 1970-01-01T00:01:00.000Z  held by boot-1",
      "  due  (main)  2 waiting  due 1970-01-01T00:01:00.000Z",
      "  parked  (main)  1 waiting",
      "  held  (main)  0 waiting  held by boot-1",
      "Conversations: 0 with work, 1 at rest",
    ],
  ],
  [
    ["skills", "list"],
    skills,
    0,
    [
      "ready     notes  managed    Take notes.",
      "lacking   long   managed    it lacks jq",
      "off       off    managed    switched off",
      "shadowed  old  bundled  by /s/old/SKILL.md",
      "refused   /s/bad/SKILL.md  it has no name",
      "/s has more folders than are looked into",
    ],
  ],
  [
    ["skills", "check"],
    skills,
    1,
    [
      "1 ready: notes",
      "lacking   long  it lacks jq",
      "off       off  switched off",
      "note      long  no version",
      "shadowed  old  the bundled one in /b/old/SKILL.md is not used, but /s/old/SKILL.md",
      "refused   /s/bad/SKILL.md  it has no name",
      "/s has more folders than are looked into (skills.limits)",
    ],
  ],
  [["skills", "check"], { ...skills, skills: [], rejected: [], shadowed: [], cut: [] }, 0, ["0 ready"]],
  [["skills", "list"], { ...skills, skills: [], rejected: [] }, 0, ["There are no skills."]],
  [
    ["skills", "info", "notes"],
    {
      ...info,
      status: "unmet",
      reason: "it lacks jq",
      key: "notes-key",
      primaryEnv: "NOTES_KEY",
      homepage: "https://x",
      shadows: ["/b/notes/SKILL.md"],
      requirements: [
        { kind: "os", what: "linux", satisfied: true },
        { kind: "bin", what: "jq", satisfied: false },
        { kind: "anyBins", what: "a or b", satisfied: true },
        { kind: "env", what: "HOME", satisfied: true },
        { kind: "config", what: "tools.exec", satisfied: false },
      ],
      notes: ["no version"],
      warnings: ["it pipes into a shell"],
    },
    0,
    [
      "notes  lacking  it lacks jq",
      "Take notes.",
      "File      /s/notes/SKILL.md  (managed)",
      "Hides     /b/notes/SKILL.md",
      "Use       the agent chooses it; people call it by /notes",
      "Home      https://x",
      "Key       skills.entries.notes-key.apiKey is handed over as NOTES_KEY",
      "Needs     system linux  there",
      "Needs     program jq  missing",
      "Needs     one program of a or b  there",
      "Needs     variable HOME  there",
      "Needs     config tools.exec  missing",
      "Note      no version",
      "Look at   it pipes into a shell",
    ],
  ],
  ...(
    [
      [{ command: null }, "the agent chooses it; people call it by /skill"],
      [{ command: null, userInvocable: false }, "the agent chooses it"],
      [{ modelInvocable: false, tool: "exec" }, "people call it by /notes; its command runs the tool exec"],
      [{ modelInvocable: false, command: null, userInvocable: false }, "nobody can call it"],
    ] as const
  ).map(
    ([more, use]) =>
      [
        ["skills", "info", "notes"],
        { ...info, ...more },
        0,
        ["notes  ready", "Take notes.", "File      /s/notes/SKILL.md  (managed)", `Use       ${use}`],
      ] as const,
  ),
  [
    ["skills", "info", "notes"],
    { ...info, always: true, requirements: [{ kind: "bin", what: "jq", satisfied: false }] },
    0,
    [
      "notes  ready",
      "Take notes.",
      "File      /s/notes/SKILL.md  (managed)",
      "Use       the agent chooses it; people call it by /notes",
      "Needs     nothing: it is marked always",
      "Needs     program jq  missing",
    ],
  ],
] as const)("%j shows all of it, line by line", async ([argv, payload, exitCode, lines]) => {
  const gateway = await fakeGateway(() => payload);
  const said = await parley(gateway.home, argv);
  expect(
    said.out
      .trimEnd()
      .split("\n")
      .map((line) => line.trimEnd()),
  ).toEqual(lines);
  expect([said.exitCode, said.err]).toEqual([exitCode, ""]);
});

test("a test message is waited for while it is on its way, and no longer than was said", async () => {
  const run = async (states: readonly string[], ...flags: readonly string[]) => {
    let looks = 0;
    const gateway = await fakeGateway(({ method }) => {
      if (method === "channels.test") return { id: "test:1", conversation: "c" };
      looks += 1;
      return {
        id: "test:1",
        conversation: "c",
        state: states[Math.min(looks, states.length) - 1],
        parts: [{ messageId: "5" }],
      };
    });
    const { exitCode, out } = await parley(gateway.home, ["channels", "test", "telegram:7", ...flags]);
    return [exitCode, out, looks];
  };
  expect(await run(["waiting", "open", "sent"])).toEqual([0, "Sent to c as message 5.\n", 3]);
  expect(await run(["waiting", "failed"], "--timeout", "0")).toEqual([
    1,
    'It waits to be sent to c; "parley outbox show test:1" tells how it ended.\n',
    1,
  ]);
});
