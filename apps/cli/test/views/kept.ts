// What is kept and shown: the audit, retention, canvases, copies, and the words of conversations.
import { at, view, type View } from "./view.ts";

const record = {
  atMs: at(1),
  method: "config.apply",
  by: "device:d1",
  client: "web",
  address: "127.0.0.1",
  about: { keys: ["a", "b"], count: 2, name: "n" },
  ok: true,
  code: null,
};
const rule = {
  name: "memory",
  rule: "90 days",
  keys: [] as string[],
  count: 3 as number | null,
  unit: "files",
};
const rules = [
  { ...rule, bytes: 1_250_000 as number | null },
  { ...rule, name: "logs", keys: ["log.keep", "log.days"], count: 1, unit: "lines", bytes: 0 },
  { ...rule, name: "audit", count: null, bytes: null },
  { ...rule, name: "sessions", count: 0, bytes: 49_999 },
];
const canvas = { session: "agent:main:main", title: 'A "plan"', version: 3, shown: true, atMs: at(5) };
const message = { id: "web:1", seq: 1, role: "user", text: "first\n\nthird", atMs: at(1), html: "" };
const stored = {
  person: "ada",
  ids: ["telegram:7", "discord:8"],
  sessions: ["agent:main:telegram:dm:7", "agent:main:discord:dm:8"],
  shared: ["agent:main:telegram:group:1"],
  done: false,
  counts: { messages: 1_234, pairings: 1 },
  rewritten: 2,
  names: ["Eve", "E v"],
  busy: [] as string[],
  notes: ["copies outside stay", "so do logs"],
};
const side = {
  model: "lab/one",
  stop: "stop",
  answer: "noted",
  calls: [{ name: "write", args: {} }],
  steps: 2,
  inputTokens: 1_000,
  outputTokens: 2,
  cacheReadTokens: 200,
  cacheWriteTokens: 30,
  costUsd: 0.01 as number | null,
  tookMs: 5 as number | null,
};
const replayed = {
  turn: "agent:main:main#1",
  session: "agent:main:main",
  before: side,
  after: null as object | null,
  prompt: { stableMoved: false, moves: [], files: [], tools: [] } as object | null,
  unanswered: [],
  moved: [] as string[],
  failures: [] as string[],
};

export const kept: readonly View[] = [
  view("audit", { "audit.list": { records: [], more: false } }),
  view("audit --method config --by device:d1 --lines 2 --since 2026-01-01T00:00:00Z", {
    "audit.list": {
      records: [
        record,
        { ...record, atMs: at(2), by: "gateway-token", about: {}, ok: false, code: "denied" },
        { ...record, atMs: at(3), ok: false, about: { is: true } },
      ],
      more: true,
    },
  }),
  view("audit --json -n 5000", { "audit.list": { records: [record], more: false } }),
  ...["-n 0", "-n 5001", "-n 1.5", "--since 2w", "--since yesterday", "--since 30m7"].map((flags) =>
    view(`audit ${flags}`, {}),
  ),
  view("retention", { "retention.run": { done: false, rules } }),
  view("retention --dry-run", { "retention.run": { done: false, rules: [] } }),
  view("retention --yes", { "retention.run": { done: true, rules } }),
  view("retention --yes --json", { "retention.run": { done: true, rules: rules.slice(0, 1) } }),
  view("retention --yes --dry-run", {}),
  view("canvas list", { "canvas.list": { canvases: [] } }),
  view("canvas list", {
    "canvas.list": { canvases: [canvas, { ...canvas, session: "b", shown: false, version: 1, atMs: at(4) }] },
  }),
  view("canvas list --json", { "canvas.list": { canvases: [canvas] } }),
  view("canvas link agent:main:main", { "canvas.link": { path: "/canvas/#c", url: "http://h/canvas/#c" } }),
  view("canvas link b", { "canvas.link": { path: "/canvas/#c" } }),
  view("backups", { "backups.list": { everyHours: null, keep: 7, folder: "/b", backups: [] } }),
  view("backups", {
    "backups.list": {
      everyHours: 6,
      keep: 7,
      folder: "/b",
      backups: [
        { path: "/b/2.db", bytes: 2_048, atMs: at(9), sealed: true },
        { path: "/b/1.db", bytes: 1_024, atMs: at(8), sealed: false },
      ],
    },
  }),
  view("backups --json", { "backups.list": { everyHours: 6, keep: 7, folder: "/b", backups: [] } }),
  view("backup /b/new.db", { backup: { path: "/b/new.db", bytes: 7 } }),
  view("backup /b/new.db --passphrase words", {}),
  view("backup /b/new.db --passphrase env:NOT_SET_ANYWHERE", {}),
  view("backup /b/new.db --passphrase file:/not/there", {}),
  view("backup /b/new.db --passphrase -", {}),
  view("threads show --thread trip -n 2", {
    "chat.history": {
      sessionKey: "s",
      messages: [
        {
          ...message,
          files: [
            { name: "a.png", bytes: 1 },
            { name: "b.pdf", bytes: 2 },
          ],
        },
        { ...message, id: "d/0", role: "assistant", text: "an answer", atMs: at(2), replaces: "d/1" },
        {
          ...message,
          id: undefined,
          role: "notice",
          text: "gone",
          atMs: at(3),
          replaces: "web:1",
          cancelled: true,
        },
      ],
      working: false,
      hasEarlier: false,
    },
  }),
  view("threads show", {
    "chat.history": { sessionKey: "s", messages: [], working: false, hasEarlier: false },
  }),
  view("threads show --json", {
    "chat.history": { sessionKey: "s", messages: [message], working: true, hasEarlier: true },
  }),
  ...["-n x", "-n 0", "-n 1.5", "--limit 1001"].map((flags) => view(`threads show ${flags}`, {})),
  view("threads show -n 1000", {
    "chat.history": { sessionKey: "s", messages: [], working: false, hasEarlier: false },
  }),
  view("threads fork web:1 t9", { "chat.fork": { thread: "t9", messages: 1 } }),
  view("threads fork web:1 t9 --thread trip --before --again --text other_words --model lab/deep", {
    "chat.fork": { thread: "t9", messages: 2 },
  }),
  view("threads list", { "chat.threads": { threads: [], left: 3 } }),
  view("threads list --json", { "chat.threads": { threads: [], left: 1 } }),
  view("threads set t2 --name Trip", { "chat.thread": { thread: null, name: null, pinned: false } }),
  view("threads set t2 --pin", { "chat.thread": { thread: "t2", name: "Trip", pinned: true } }),
  view("forget person telegram:7", {
    "people.forget": { ...stored, ids: [], sessions: [], shared: [], counts: {}, rewritten: 0, names: [] },
  }),
  view("forget person telegram:7", {
    "people.forget": { ...stored, ids: ["telegram:7"], sessions: [], shared: [], counts: {}, names: [] },
  }),
  view("forget person ada", { "people.forget": { ...stored, busy: ["agent:main:main", "telegram:7"] } }),
  view("forget person ada", {
    "people.forget": { ...stored, rewritten: 0, sessions: [], shared: [], names: [], notes: [] },
  }),
  view("forget person ada --yes", { "people.forget": { ...stored, done: true, busy: ["agent:main:main"] } }),
  view("export person ada /out.tar", {
    "people.export": { ...stored, path: "/out.tar", bytes: 1_024 },
  }),
  view("export person ada /out", { "people.export": { ...stored, path: "/out", bytes: 0, counts: {} } }),
  view("replay agent:main:main --model lab/two --config /c/other.json5", {
    "turns.replay": {
      ...replayed,
      after: { ...side, model: "lab/two", answer: "other\nwords", calls: [], costUsd: null, tookMs: null },
      moved: ["answer: other words", "calls: none"],
    },
  }),
  view("replay t --no-ask", {
    "turns.replay": {
      ...replayed,
      prompt: null,
      before: { ...side, calls: [...side.calls, { name: "read", args: {} }], costUsd: 0.12345 },
      failures: ["it ended as an error"],
    },
  }),
  ...["other words", "it ended as length, not as stop"].map((failure) =>
    view("replay t", { "turns.replay": { ...replayed, after: side, failures: ["longer", failure] } }),
  ),
  view("mcp logout maps", { "mcp.logout": { name: "maps", wasLoggedIn: true } }),
  view("mcp logout maps", { "mcp.logout": { name: "maps", wasLoggedIn: false } }),
  view("mcp login maps --port 65536", {}),
  view("mcp login maps --port 1e3", {}),
];
