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
  view("threads fork web:1 t9", { "chat.fork": { thread: "t9", messages: 1 } }),
  view("threads fork web:1 t9 --thread trip --before --again --text other_words --model lab/deep", {
    "chat.fork": { thread: "t9", messages: 2 },
  }),
  view("threads list", { "chat.threads": { threads: [], left: 3 } }),
  view("threads list --json", { "chat.threads": { threads: [], left: 1 } }),
  view("threads set t2 --name Trip", { "chat.thread": { thread: null, name: null, pinned: false } }),
  view("threads set t2 --pin", { "chat.thread": { thread: "t2", name: "Trip", pinned: true } }),
  view("mcp logout maps", { "mcp.logout": { name: "maps", wasLoggedIn: true } }),
  view("mcp logout maps", { "mcp.logout": { name: "maps", wasLoggedIn: false } }),
  view("mcp login maps --port 65536", {}),
  view("mcp login maps --port 1e3", {}),
];
