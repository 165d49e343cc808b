// What an operator sees of agents: models, usage, tools, approvals, questions, skills, hooks, memory,
// servers, prompts.
import { at, view, type View } from "./view.ts";

const model = {
  id: "lab/deep",
  alias: null as string | null,
  api: "ollama",
  trouble: null as string | null,
  contextWindow: 1_000,
  maxTokens: 100,
  vision: false,
  reasoning: false,
  thinking: ["off", "low"],
  price: null as object | null,
  usedBy: [] as string[],
  uncappedFor: [] as string[],
};
const tested = {
  id: "lab/deep",
  ok: true,
  error: null as object | null,
  firstTokenMs: 5 as number | null,
  totalMs: 9,
  toolCalling: true,
  roundTrip: true,
  usesTools: true,
  thinking: { level: "high", works: true, shown: false },
  text: "",
  inputTokens: 1,
  outputTokens: 2,
  costUsd: null as number | null,
};
const refusal = { kind: "invalid", message: "no effort", status: 400 };

const sums = {
  turns: 2,
  inputTokens: 1_000,
  outputTokens: 20,
  cacheReadTokens: 100,
  cacheWriteTokens: 10,
  costUsd: 0.4,
  unpricedTokens: 0,
};
const free = { ...sums, costUsd: 0 };
const cap = {
  agent: "main",
  over: "day",
  unit: "usd",
  used: 4.99,
  most: 5,
  resets: "at midnight (UTC)",
};
const used = { from: "2026-01-01", through: "2026-01-07", timeZone: "UTC", caps: [] as object[] };

const tool = {
  id: "exec",
  label: "Exec",
  section: "runtime",
  summary: "Run shell commands",
  effect: "writes",
  groups: ["runtime", "all"],
  profiles: ["coding", "full"],
  status: "allowed",
  reason: null as string | null,
};
const tools = [
  tool,
  {
    ...tool,
    id: "read",
    label: "Read",
    status: "denied",
    reason: "a rule",
    groups: [],
    profiles: ["minimal"],
  },
];
const approval = {
  id: "a1",
  state: "open",
  session: "agent:main:main",
  agent: "main",
  tool: "exec",
  shown: "rm\n-r x",
  reason: "it writes",
  always: true,
  askedBy: null,
  asked: "Eve asks\nfor this",
  createdAtMs: at(0),
  expiresAtMs: at(60),
  log: [] as object[],
};
const grant = {
  id: "g1",
  agent: "main",
  argv: ["git", "status"],
  cwd: "/w",
  sandbox: "off",
  by: "Eve",
};
const question = {
  id: "q1",
  state: "open",
  session: "agent:main:main",
  question: "Which\none?",
  options: ["the left", "the right"],
  people: ["Eve", "Bob"],
  expiresAtMs: at(60),
  answer: null as object | null,
};

const skill = {
  name: "maps",
  key: "maps",
  source: "managed",
  status: "ready",
  reason: null as string | null,
  description: "d".repeat(90),
  notes: [] as string[],
};
const skills = {
  agent: "main",
  skills: [
    skill,
    { ...skill, name: "m", source: "workspace", description: "e".repeat(91), notes: ["old form", "no name"] },
    { ...skill, name: "off", status: "disabled", reason: "switched off" },
    { ...skill, name: "lacks", status: "unmet", reason: "needs jq" },
    { ...skill, name: "away", status: "not allowed", reason: "not for this agent" },
  ],
  shadowed: [{ name: "maps", source: "extra", file: "/e/SKILL.md", by: "the managed one" }],
  rejected: [{ file: "/f/SKILL.md", reason: "no front matter" }],
  cut: ["/many"],
};
const emptySkills = { agent: "main", skills: [], shadowed: [], rejected: [], cut: [] };
const needs = { always: false, requirements: [] as object[] };
const requirements = ["os", "bin", "anyBins", "env", "config"].map((kind, index) => ({
  kind,
  what: `what-${index}`,
  satisfied: index % 2 === 0,
}));
const info = {
  ...skill,
  ...needs,
  file: "/s/SKILL.md",
  shadows: [] as string[],
  modelInvocable: false,
  userInvocable: false,
  command: null as string | null,
  tool: null as string | null,
  homepage: null as string | null,
  primaryEnv: null as string | null,
  warnings: [] as string[],
};

const counts = {
  runs: 3,
  failed: 0,
  timedOut: 0,
  dropped: 0,
  lastAtMs: at(0),
  lastError: null as string | null,
};
const hook = {
  name: "boot",
  source: "bundled",
  status: "ready",
  eligible: true,
  reason: null as string | null,
  description: "d".repeat(90),
  events: ["gateway:startup", "command:new"],
  counts: null as object | null,
  notes: [] as string[],
};
const hooks = {
  enabled: true,
  hooks: [
    hook,
    { ...hook, name: "b", description: "e".repeat(91), counts, notes: ["old"] },
    { ...hook, name: "off", status: "disabled", eligible: false, reason: "not enabled" },
    { ...hook, name: "fails", counts: { ...counts, failed: 1, timedOut: 2, dropped: 3, lastError: "boom" } },
  ],
  shadowed: [{ name: "boot", source: "extra", file: "/e/HOOK.md", by: "the bundled one" }],
  rejected: [] as object[],
};
const stuck = (status: string): object => ({ ...hook, name: status, status, eligible: false, reason: "why" });
const hookInfo = {
  ...hook,
  ...needs,
  emoji: null as string | null,
  file: "/h/HOOK.md",
  handler: null as string | null,
  export: "default",
  agent: null as string | null,
  homepage: null as string | null,
};
const written = { path: "/c/parley.json5", changed: ["hooks"], warnings: [] as object[] };

const found = {
  path: "memory/a.md",
  startLine: 1,
  endLine: 2,
  score: 0.756,
  heading: "",
  scope: "shared",
  snippet: "one\ntwo",
};
const why = { path: "memory/a.md", line: 3, text: "- tea", writtenBy: [] as object[] };
const writer = { session: "agent:main:main", turn: "t#1", by: ["Eve", "Bob"], atMs: at(0), tool: "write" };
const change = {
  id: "c1",
  path: "memory/a.md",
  session: "agent:main:main",
  turn: "t#1",
  by: ["Eve", "Bob"],
  tool: "write",
  removed: "",
  added: "1\n\n2\n3\n4\n5\n6",
};
const index = {
  agent: "main",
  enabled: true,
  workspace: "/w",
  index: "/i.db",
  bytes: 1_572_864,
  provider: "none",
  model: null as string | null,
  files: 2,
  chunks: 30,
  vectors: 13,
  vectorsLeft: 0,
  filesLeft: 0,
  problems: [] as object[],
  notes: [] as string[],
};
const line = { path: "memory/a.md", line: 3, text: "- tea" };
const proposal = {
  id: "p1",
  agent: "main",
  session: "s",
  turn: "t",
  state: "open",
  createdAtMs: 0,
  expiresAtMs: 1,
  said: "nobody has decided yet.",
  changes: [
    { kind: "merge", lines: [line, { ...line, line: 9 }], text: "- Tea.", why: "the same" },
    { kind: "contradiction", lines: [line, line], text: null, why: "", untrusted: "example.org" },
  ],
};

const serverTool = { name: "add", tool: "calc__add", description: `${"d".repeat(100)}\nmore` };
const server = {
  name: "calc",
  enabled: true,
  transport: "stdio",
  target: "node calc.js",
  state: "running",
  reason: null as string | null,
  tools: [] as object[],
  waiting: [] as object[],
  code: "",
  leftOut: [] as object[],
  listedAtMs: null as number | null,
};
const listed = {
  ...server,
  listedAtMs: at(0),
  tools: [serverTool, { ...serverTool, name: "sub", tool: "calc__sub", description: "e".repeat(101) }],
  waiting: [
    { name: "mul", description: "multiplies", schema: { a: 1 }, before: null },
    { name: "div", description: "divides", schema: {}, before: { description: "divided" } },
  ],
  code: "1234",
  leftOut: [{ name: "odd", reason: "its name is too long" }],
};

const identity = { session: "agent:main:main", turn: null as number | null, atMs: null as number | null };
const section = {
  id: "identity",
  zone: "stable",
  chars: 1_200,
  tokens: 300,
  hash: "abcd",
  included: true,
  reason: "always",
};
const explanation = {
  mode: "full",
  chars: 12_345,
  tokens: 3_000,
  estimator: "chars/4",
  stableTokens: 2_000,
  stableHash: "ffff",
  volatileTokens: 1_000,
  boundary: 8_000,
  sections: [
    section,
    { ...section, id: "time", zone: "volatile" },
    { ...section, id: "out", included: false, reason: "no skills" },
  ],
  files: [] as object[],
  truncations: [] as object[],
  tools: [] as object[],
};
const file = { name: "AGENTS.md", state: "present", rawChars: 2_000, injectedChars: 1_000, truncated: true };
const still = { stableMoved: false, moves: [] as object[], files: [] as string[], tools: [] as string[] };
const move = { id: "time", zone: "volatile", change: "changed", charsBefore: 1_000, charsAfter: 1_001 };

export const agents: readonly View[] = [
  view("models list", {
    "models.list": {
      models: [
        model,
        {
          ...model,
          alias: "deep",
          vision: true,
          reasoning: true,
          price: { input: 3, output: 15 },
          usedBy: ["main: primary", "b: fallback"],
          trouble: "no key",
          uncappedFor: ["main", "b"],
        },
      ],
    },
  }),
  ...[
    {},
    { thinking: { level: "high", works: true, shown: true }, costUsd: 0.0000015 },
    { thinking: { level: "off", works: true, shown: true }, firstTokenMs: null },
    { thinking: { level: "high", works: false, shown: false }, error: refusal },
    { toolCalling: false, roundTrip: null, text: "no" },
    { roundTrip: false },
    { usesTools: false, toolCalling: false, roundTrip: null },
    { ok: false, error: { kind: "network", message: "gone" } },
  ].map((more) => view("models test lab/deep", { "models.test": { ...tested, ...more } })),
  view("models test", { "models.test": tested }),
  view("usage", { usage: { ...used, rows: [], total: { ...sums }, caps: [cap, { ...cap, over: "month" }] } }),
  view("usage --by person --days 62", {
    usage: {
      ...used,
      rows: [
        { name: "telegram:7", ...sums },
        { name: "a much longer name", ...sums, unpricedTokens: 7 },
        { name: "unpriced", ...free, unpricedTokens: 1_130 },
        { name: "nearly", ...free, unpricedTokens: 1_129 },
        { name: "free", ...free },
        { name: "small", ...sums, costUsd: 0.09 },
        { name: "more", ...sums, costUsd: 0.1 },
      ],
      total: { ...sums, turns: 14, unpricedTokens: 7 },
      caps: [
        { ...cap, used: 5 },
        { ...cap, unit: "tokens", used: 99, most: 100 },
        { ...cap, unit: "tokens", used: 100, most: 100 },
      ],
    },
  }),
  ...["session", "agent", "channel", "model", "day"].map((by) =>
    view(`usage --by ${by} --days 1`, { usage: { ...used, rows: [{ name: "x", ...sums }], total: sums } }),
  ),
  ...["--by week", "--days 0", "--days 63", "--days 1.5"].map((flags) => view(`usage ${flags}`, {})),
  view("tools list", { "tools.list": { session: "agent:main:main", sandbox: null, reason: null, tools } }),
  view("tools list --session k", {
    "tools.list": { session: "k", sandbox: "bwrap", reason: "safe mode", tools },
  }),
  view("tools explain", { "tools.list": { session: "agent:main:main", sandbox: null, reason: null, tools } }),
  view("tools explain READ", {
    "tools.list": { session: "agent:main:main", sandbox: null, reason: null, tools },
  }),
  view("tools explain rea", {
    "tools.list": { session: "agent:main:main", sandbox: null, reason: null, tools },
  }),
  view("approvals list", { "approvals.list": { approvals: [], grants: [] } }),
  view("approvals list --all", {
    "approvals.list": { approvals: [], grants: [grant, { ...grant, id: "g2" }] },
  }),
  view("approvals list --all", {
    "approvals.list": {
      approvals: [
        approval,
        { ...approval, id: "a2", always: false },
        {
          ...approval,
          id: "a3",
          state: "denied",
          log: [
            { atMs: at(1), what: "asked", by: "main" },
            { atMs: at(2), what: "denied", by: "Eve" },
          ],
        },
      ],
      grants: [],
    },
  }),
  view("approvals list", { "approvals.list": { approvals: [{ ...approval, state: "denied" }], grants: [] } }),
  ...["once", "always", "deny"].map((decision) =>
    view(`approvals resolve a1 ${decision}`, { "approvals.resolve": { say: `Decided: ${decision}.` } }),
  ),
  view("approvals resolve a1 yes", {}),
  view("approvals revoke g1", { "approvals.revoke": { id: "g1" } }),
  view("questions", { "questions.list": { questions: [] } }),
  view("questions --all", { "questions.list": { questions: [] } }),
  view("questions", {
    "questions.list": {
      questions: [
        question,
        { ...question, id: "q2", state: "answered", options: [], answer: { by: "Bob", text: "left" } },
      ],
    },
  }),
  view("skills list", { "skills.list": emptySkills }),
  view("skills list --agent b", { "skills.list": skills }),
  view("skills list", { "skills.list": { ...emptySkills, rejected: skills.rejected } }),
  view("skills check", { "skills.list": emptySkills }),
  view("skills check", { "skills.list": skills }),
  view("skills check --json", { "skills.list": skills }),
  view("skills check --json --agent b", { "skills.list": { ...skills, rejected: [] } }),
  view("skills info maps", { "skills.info": info }),
  view("skills info maps --agent b", {
    "skills.info": {
      ...info,
      status: "unmet",
      reason: "needs jq",
      shadows: ["/a", "/b"],
      modelInvocable: true,
      userInvocable: true,
      tool: "exec",
      homepage: "https://x",
      primaryEnv: "MAPS_KEY",
      notes: ["n1", "n2"],
      warnings: ["w1", "w2"],
    },
  }),
  view("skills info maps", { "skills.info": { ...info, always: true } }),
  view("skills info maps", { "skills.info": { ...info, always: true, requirements } }),
  view("skills info maps", { "skills.info": { ...info, requirements } }),
  view("skills info maps", { "skills.info": { ...info, command: "maps", userInvocable: true } }),
  view("skills install /x", {
    "skills.install": {
      name: "maps",
      folder: "/s/maps",
      files: 1,
      sha256: "0123456789abcdef0",
      replaced: false,
      notes: [],
      warnings: [],
    },
  }),
  view("skills install /x --force", {
    "skills.install": {
      name: "maps",
      folder: "/s/maps",
      files: 2,
      sha256: "0123456789abcdef0",
      replaced: true,
      notes: ["n1", "n2"],
      warnings: ["w1", "w2"],
    },
  }),
  view("hooks list", { "hooks.list": { ...hooks, hooks: [], shadowed: [] } }),
  view("hooks list", { "hooks.list": hooks }),
  view("hooks list", { "hooks.list": { ...hooks, hooks: [], rejected: skills.rejected } }),
  view("hooks list --eligible --json", { "hooks.list": hooks }),
  view("hooks list --eligible --verbose", { "hooks.list": { ...hooks, enabled: false } }),
  view("hooks check", { "hooks.list": hooks }),
  view("hooks check", { "hooks.list": { ...hooks, enabled: false, hooks: [stuck("unmet")] } }),
  view("hooks check", { "hooks.list": { ...hooks, hooks: [stuck("changed")] } }),
  view("hooks check", {
    "hooks.list": { ...hooks, hooks: [hook], rejected: [{ file: "/f/HOOK.md", reason: "no events" }] },
  }),
  view("hooks check --json", { "hooks.list": { ...hooks, hooks: [...hooks.hooks, stuck("unmet")] } }),
  view("hooks check", {
    "hooks.list": {
      ...hooks,
      shadowed: [],
      hooks: [
        { ...hook, name: "failed", counts: { ...counts, failed: 1 } },
        { ...hook, name: "late", counts: { ...counts, timedOut: 2 } },
        { ...hook, name: "dropped", counts: { ...counts, dropped: 3 } },
        { ...hook, name: "fine", counts },
      ],
    },
  }),
  view("hooks info boot", { "hooks.info": { ...hookInfo, counts: { ...counts, runs: 0, lastAtMs: null } } }),
  view("hooks info boot", { "hooks.info": hookInfo }),
  view("hooks info boot", {
    "hooks.info": {
      ...hookInfo,
      emoji: "x",
      reason: "why",
      status: "unmet",
      handler: "/h/handler.ts",
      agent: "main",
      homepage: "https://x",
      counts,
      notes: ["n1", "n2"],
    },
  }),
  view("hooks info boot", { "hooks.info": { ...hookInfo, requirements } }),
  view("hooks info boot", { "hooks.info": { ...hookInfo, description: "", handler: "/h/HOOK.md" } }),
  view("hooks enable boot", { "hooks.enable": written, "hooks.info": hookInfo }),
  view("hooks enable boot", {
    "hooks.enable": {
      ...written,
      changed: [],
      warnings: [{ message: "w1" }, { message: "w2", fix: "Do this" }],
      problems: [{ message: "p1", fix: "Do that" }],
    },
    "hooks.info": { ...hookInfo, status: "unmet", reason: "needs jq" },
  }),
  view("hooks enable BOOT", { "hooks.enable": written, "hooks.info": hookInfo }),
  view("hooks enable BOOT --json", { "hooks.enable": written, "hooks.info": hookInfo }),
  view("hooks disable boot", { "hooks.disable": written, "hooks.info": { ...hookInfo, status: "unmet" } }),
  view("hooks disable boot", {
    "hooks.disable": { ...written, changed: [] },
    "hooks.info": new Error("gone"),
  }),
  view("hooks disable boot --json", { "hooks.disable": written, "hooks.info": new Error("gone") }),
  view("memory search tea", { "memory.search": { results: [], mode: "words", notes: ["n1", "n2"] } }),
  view("memory search tea --agent b --max 50 --min-score 1", {
    "memory.search": {
      mode: "hybrid",
      notes: ["n1"],
      results: [
        found,
        { ...found, heading: "Drinks", scope: "private", untrusted: "a page" },
        { ...found, turn: 7, untrusted: "a mail", score: 1 },
      ],
    },
  }),
  view("memory get memory/a.md", {
    "memory.get": { path: "memory/a.md", startLine: 1, endLine: 2, totalLines: 9, text: "one\ntwo" },
  }),
  view("memory get memory/a.md --from 1 --lines 2 --agent b", {
    "memory.get": { path: "memory/a.md", startLine: 1, endLine: 2, totalLines: 9, text: "one\ntwo" },
  }),
  view("memory status", {
    "memory.status": {
      agents: [
        index,
        {
          ...index,
          agent: "b",
          enabled: false,
          provider: "openai",
          model: "small",
          vectorsLeft: 4,
          filesLeft: 5,
          problems: [{ path: "memory/x.md", reason: "too large" }],
          notes: ["n1", "n2"],
        },
        { ...index, provider: "ollama" },
      ],
    },
  }),
  view("memory status --agent main", { "memory.status": { agents: [index] } }),
  view("memory reindex --agent b", { "memory.reindex": { agents: [index] } }),
  view("memory why tea", { "memory.why": { lines: [] } }),
  view("memory why tea --agent b", {
    "memory.why": {
      lines: [why, { ...why, writtenBy: [writer, { ...writer, by: [], atMs: at(1), untrusted: "a page" }] }],
    },
  }),
  view("memory history", { "memory.history": { changes: [] } }),
  view("memory history --path memory/a.md --max 500 --agent b", { "memory.history": { changes: [] } }),
  view("memory history", {
    "memory.history": {
      changes: [
        change,
        { ...change, by: [], undoneAtMs: at(1), added: "1\n2\n3\n4\n5\n6\n7\n8", removed: "old" },
        { ...change, tool: "undo" },
      ],
    },
  }),
  view("memory search tea --max 1 --min-score 0", {
    "memory.search": { results: [], mode: "words", notes: [] },
  }),
  view("memory history --max 1", { "memory.history": { changes: [] } }),
  view("memory reindex", { "memory.reindex": { agents: [] } }),
  view("memory undo", { "memory.undo": { id: "c1", path: "memory/a.md", changed: true } }),
  view("memory undo c1 --agent b", { "memory.undo": { id: "c1", path: "memory/a.md", changed: false } }),
  view("memory proposals", { "memory.proposals": { proposals: [] } }),
  view("memory proposals --all --agent b", { "memory.proposals": { proposals: [] } }),
  view("memory proposals", {
    "memory.proposals": { proposals: [proposal, { ...proposal, state: "refused" }] },
  }),
  view("memory proposals --all", {
    "memory.proposals": { proposals: [{ ...proposal, state: "refused", said: "refused by Ann." }] },
  }),
  view("memory proposals --json", {
    "memory.proposals": { proposals: [{ ...proposal, state: "refused" }, proposal] },
  }),
  view("memory accept p1 1 3", { "memory.decide": { id: "p1", said: "accepted, 2 of 3 changes made." } }),
  view("memory refuse p1 --json", { "memory.decide": { id: "p1", said: "refused." } }),
  view("memory accept p1 x", {}),
  view("memory forget tea", { "memory.forget": { lines: [], history: null, notes: [] } }),
  view("memory forget tea --agent b --yes", {
    "memory.forget": { lines: [line, { ...line, line: 9 }], history: 4, notes: ["n1", "n2"] },
  }),
  view("memory forget tea --yes", { "memory.forget": { lines: [line], history: null, notes: [] } }),
  view("memory forget tea --yes --json", { "memory.forget": { lines: [line], history: 0, notes: [] } }),
  view("memory forget tea --json", { "memory.forget": { lines: [line], history: 0, notes: [] } }),
  ...[
    "search tea --max 0",
    "search tea --max 51",
    "search tea --min-score 1.1",
    "search tea --min-score -0.1",
    "search tea --max _",
    "search tea --max ten",
    "get a --from 0",
    "get a --from two",
    "get a --lines 1.5",
    "history --max 0",
    "history --max 501",
  ].map((command) => view(`memory ${command}`, {})),
  view("mcp list", { "mcp.list": { servers: [] } }),
  view("mcp list", {
    "mcp.list": {
      servers: [
        server,
        listed,
        { ...listed, name: "off", enabled: false, state: "stopped", waiting: [], code: "", leftOut: [] },
        { ...server, name: "bad", state: "failed", reason: "it ended with 1" },
      ],
    },
  }),
  view("mcp list calc", { "mcp.list": { servers: [listed] } }),
  view("mcp test calc", { "mcp.test": listed }),
  view("mcp approve calc", { "mcp.approve": { tools: [] } }),
  view("mcp approve calc 1234", { "mcp.approve": { tools: ["calc__add", "calc__sub"] } }),
  view("prompt show", { "prompt.show": { ...identity, text: "two\nlines", boundary: 3 } }),
  view("prompt show --session k --turn last", {
    "prompt.show": { ...identity, turn: 7, text: "x".repeat(1_000), boundary: 999 },
  }),
  view("prompt explain --turn -2", {
    "prompt.explain": { ...identity, turn: 7, atMs: at(0), explanation, moved: null },
  }),
  view("prompt explain --turn 7", {
    "prompt.explain": {
      ...identity,
      explanation: {
        ...explanation,
        files: [
          file,
          { ...file, name: "TOOLS.md", truncated: false, note: "Only half." },
          { ...file, name: "USER.md", state: "missing" },
          { ...file, name: "SOUL.md", state: "refused" },
          { ...file, name: "MEMORY.md", state: "refused", note: "a link" },
        ],
        truncations: [{ section: "files", how: "cut", rawChars: 5_000, keptChars: 4_000 }],
        tools: [
          { name: "exec", chars: 1_000, tokens: 250 },
          { name: "read", chars: 2_000, tokens: 500 },
        ],
      },
      moved: { ...still, since: { ...identity, turn: 6 } },
    },
  }),
  ...[
    still,
    { ...still, moves: [move, { ...move, id: "x", zone: "stable" }], files: ["AGENTS.md", "USER.md"] },
    { ...still, moves: [move], stableMoved: true },
    { ...still, tools: ["exec", "read"] },
  ].map((moved) =>
    view("prompt diff --turn 7 --with 3", {
      "prompt.diff": {
        ...moved,
        before: { ...identity, turn: 3 },
        after: { ...identity, turn: 7, atMs: at(0) },
      },
    }),
  ),
  ...["0", "1.5", "x"].map((turn) => view(`prompt show --turn ${turn}`, {})),
];
