// What an operator sees of work: status, lanes, outbox, dead messages, nodes, sessions, threads, people,
// devices.
import { at, view, type View } from "./view.ts";

const status = {
  version: "1.2.3",
  pid: 42,
  bootId: "b",
  startedAtMs: at(0),
  state: "ok",
  reasons: [] as string[],
  configPath: "/c/parley.json5",
  config: { takenAtMs: at(0), problems: [] as string[], restartNeeded: [] as string[] },
  model: "lab/deep",
  channels: [
    { channel: "telegram", account: "default", state: "ok" },
    { channel: "telegram", account: "second", state: "elsewhere", reason: "led by n2" },
    { channel: "discord", account: "default", state: "down", reason: "wrong token" },
  ],
  turnsRunning: 1,
  rowsWaiting: 2,
  deliveriesWaiting: 3,
  deadRows: 0,
  deliveriesTroubled: 0,
  memoryBytes: 104_333_312,
};
const subagents = (running: number, waiting: number, ended: object): object => ({
  ...status,
  subagents: { running, waiting, ended },
});

const part = {
  state: "sent",
  attempts: 1,
  flagged: false,
  messageId: "5",
  startedAtMs: at(1),
  reason: null as string | null,
};
const delivery = {
  id: "turn#1/0",
  conversation: "telegram:default:dm:7",
  cause: "turn#1",
  createdAtMs: at(0),
  state: "failed",
  text: "first\nsecond",
  parts: [
    { ...part, reason: "sent, after a wait" },
    { ...part, state: "failed", reason: "chat not found" },
    { ...part, state: "queued", reason: "waits for the one before" },
  ],
};
const row = {
  id: "telegram:default:9",
  conversation: "telegram:default:dm:7",
  sender: "Eve (telegram:7)",
  text: "hi",
  reason: "the model refused",
  receivedAtMs: at(0),
};
const lane = { lane: "agent:main:a", pool: "main", atMs: null, holder: null, waiting: 0 };
const node = {
  node: "n1",
  role: "all",
  version: "1.2.3",
  pid: 42,
  state: "ok",
  turns: 2,
  deliveries: 3,
  leads: ["telegram:default", "discord:default"],
  up: true,
  silentMs: 2_499,
  url: "http://127.0.0.1:1",
};
const session = {
  key: "agent:main:main",
  agent: "main",
  kind: "main",
  epoch: 1,
  createdAtMs: at(0),
  updatedAtMs: at(60),
  name: null as string | null,
  model: null as string | null,
  thinking: null,
  reasoning: null,
  working: false,
  inputTokens: 1,
  outputTokens: 2,
};
const entry = { seq: 1, epoch: 1, turn: "t", type: "user", text: "hi", atMs: at(1) };
const tree = {
  key: "agent:main:subagent:a-1",
  parent: "agent:main:main",
  depth: 0,
  label: null as string | null,
  task: null as string | null,
  state: "running",
  reason: null as string | null,
  startedAtMs: at(0),
  endedAtMs: null as number | null,
  tokens: 12,
};
const thread = {
  thread: null as string | null,
  name: null as string | null,
  pinned: false,
  text: "",
  atMs: null as number | null,
  working: false,
};
const call = { tool: "exec", state: "ended", args: "ls\n  -l", startedAtMs: at(0), endedAtMs: at(2) };
const person = {
  channel: "telegram",
  account: "default",
  senderId: "7",
  senderName: "Eve",
};
const place = {
  conversation: "telegram:work:dm:7",
  channel: "telegram",
  account: "work",
  kind: "dm",
  names: [] as string[],
  title: null as string | null,
  lastAtMs: at(3),
};
const paired = {
  name: "phone",
  grants: [] as string[],
  code: "AB",
  url: "https://x.example",
  link: "https://x.example/pair/#AB",
};
const device = {
  id: "d1",
  name: "laptop",
  scopes: ["read", "write"],
  peer: "web-1",
  createdAtMs: at(0),
  connections: 1,
};

export const work: readonly View[] = [
  view("why 7", { why: { words: ["About it:", "- received", "", "- it ended: answered"] } }),
  view("why some_words", { why: { words: ["only one line"] } }),
  view("status", { status }),
  view("status", {
    status: {
      ...status,
      state: "degraded",
      reasons: ["disk full", "model down"],
      config: {
        takenAtMs: 0,
        problems: ["2:3 unknown key", "4:1 no"],
        restartNeeded: ["gateway.port", "store"],
      },
      deadRows: 1,
      deliveriesTroubled: 2,
      heartbeats: { sent: 3, "quiet-hours": 2 },
    },
  }),
  view("status", { status: { ...status, config: undefined, deadRows: 1, state: "stopped", channels: [] } }),
  view("status", {
    status: {
      ...status,
      deliveriesTroubled: 2,
      channels: ["starting", "ok", "degraded", "down", "stopped", "elsewhere"].map((state) => ({
        channel: "telegram",
        account: state,
        state,
      })),
    },
  }),
  view("status", { status: subagents(0, 0, {}) }),
  view("status", { status: subagents(0, 1, {}) }),
  view("status", { status: subagents(0, 0, { answered: 5, failed: 1 }) }),
  view("lanes", { "lanes.list": { sessions: [], conversations: [] } }),
  view("lanes", {
    "lanes.list": {
      sessions: [
        lane,
        { ...lane, lane: "due", atMs: at(5) },
        { ...lane, lane: "held", holder: "boot-1", atMs: at(6), waiting: 3 },
        { ...lane, lane: "waits", waiting: 1 },
      ],
      conversations: [lane, { ...lane, lane: "only held", holder: "boot-2" }],
    },
  }),
  view("outbox list --troubled", { "outbox.list": { deliveries: [delivery] } }),
  view("outbox list --lane c", {
    "outbox.list": {
      deliveries: [
        { ...delivery, id: "a", parts: [part, part] },
        { ...delivery, id: "b" },
      ],
    },
  }),
  view("outbox show a", { "outbox.show": { ...delivery, id: "a" } }),
  view("channels list", {
    "channels.list": {
      channels: [
        { channel: "telegram", account: "default", state: "ok", lastInboundAtMs: at(3) },
        { channel: "discord", account: "work", state: "down", reason: "401: no such token" },
      ],
    },
  }),
  view("channels places --account telegram", {
    "channels.places": {
      places: [
        {
          conversation: "telegram:default:group:-5",
          channel: "telegram",
          account: "default",
          kind: "group",
          names: ["Eve", "Bob"],
          title: "Beans",
          lastAtMs: at(3),
        },
      ],
    },
  }),
  view("channels test telegram:7", {
    "channels.test": { id: "test:1", conversation: "telegram:default:dm:7" },
    "outbox.show": {
      ...delivery,
      id: "test:1",
      conversation: "telegram:default:dm:7",
      state: "sent",
      parts: [part],
    },
  }),
  view("channels test telegram:8", {
    "channels.test": { id: "test:1", conversation: "telegram:default:dm:8" },
    "outbox.show": {
      ...delivery,
      id: "test:1",
      conversation: "telegram:default:dm:8",
      state: "failed",
      parts: [{ ...part, state: "failed", messageId: null, reason: "403: bot was blocked by the user" }],
    },
  }),
  view("outbox retry x", { "outbox.retry": { id: "x~2" } }),
  view("outbox drop x", { "outbox.drop": { id: "x" } }),
  view("dead list", {
    "dead.list": { rows: [row, { ...row, id: "second", sender: null, reason: null }] },
  }),
  view("dead retry x", { "dead.retry": { id: "x~2" } }),
  view("dead drop x", { "dead.drop": { id: "x" } }),
  view("nodes", { "nodes.list": { nodes: [] } }),
  view("nodes", {
    "nodes.list": {
      nodes: [
        node,
        { ...node, node: "n2", leads: [] },
        { ...node, node: "n3", up: false, state: "gone", silentMs: 2_500 },
        { ...node, node: "n4", up: false, role: "worker" },
      ],
    },
  }),
  view("sessions list", { "sessions.list": { sessions: [] } }),
  view("sessions list --agent main --limit 1000", {
    "sessions.list": {
      sessions: [
        session,
        { ...session, epoch: 2, name: "Trip", model: "lab/deep", working: true },
        { ...session, name: undefined },
      ],
    },
  }),
  view("sessions list kids group --limit 5", { "sessions.list": { sessions: [] } }),
  view("sessions show k --limit 1", {
    "sessions.show": {
      ...session,
      entries: [entry, { ...entry, type: "assistant", text: "two\nlines", atMs: at(2) }],
    },
  }),
  view("sessions tree", { "sessions.tree": { sessions: [] } }),
  view("sessions tree k", {
    "sessions.tree": {
      sessions: [
        tree,
        { ...tree, depth: 1, label: "digger", state: "failed", reason: "no spade", endedAtMs: at(7.5) },
        { ...tree, depth: 2, state: "answered", endedAtMs: at(7.4) },
      ],
    },
  }),
  view("sessions reset k", { "sessions.reset": session }),
  view("sessions set k --model lab/deep --thinking high --reasoning on", {
    "sessions.patch": { ...session, model: "lab/deep", thinking: "high", reasoning: "on" },
  }),
  view("sessions set k --model default --thinking default", { "sessions.patch": session }),
  view("sessions forget k", { "sessions.forget": { key: "k", entries: 3 } }),
  view("threads list", {
    "chat.threads": {
      left: 0,
      threads: [
        thread,
        { ...thread, thread: "t2", name: "Trip", pinned: true, working: true, text: "a\nb", atMs: at(3) },
        { ...thread, thread: "t3", working: true },
        { ...thread, thread: "t4", pinned: true },
      ],
    },
  }),
  view("threads list trip to rome", {
    "chat.threads": { left: 12, threads: [{ ...thread, thread: "t2", name: "Trip to Rome" }] },
  }),
  view("threads set t2 --name Trip --pin", {
    "chat.thread": { ...thread, thread: "t2", name: "Trip", pinned: true },
  }),
  view("threads set t2 --no-pin --remove", { "chat.thread": thread }),
  view("threads steps --thread t2", { "chat.steps": { working: false, waiting: [], calls: [] } }),
  view("threads steps", {
    "chat.steps": {
      working: true,
      waiting: ["web:1", "web:2"],
      calls: [call, { ...call, tool: "read", state: "running", args: "x".repeat(121), endedAtMs: null }],
    },
  }),
  view("threads edit web:1 other words", { "chat.edit": { id: "web:1" } }),
  view("threads cancel web:1 --thread t2", { "chat.cancel": { id: "web:1" } }),
  view("pair list", { "pairing.list": { pending: [], paired: [] } }),
  view("pair list", {
    "pairing.list": {
      pending: [
        { ...person, code: "ABCD2345", expiresAtMs: at(9) },
        { ...person, code: "EFGH2345", senderId: "8", senderName: "Bob", expiresAtMs: at(10) },
      ],
      paired: [
        { ...person, atMs: at(0) },
        { ...person, channel: "discord", senderId: "9", atMs: at(1) },
      ],
    },
  }),
  view("devices list", { "devices.list": { devices: [] } }),
  view("devices list", {
    "devices.list": {
      devices: [
        device,
        { ...device, id: "d2", grants: ["notify", "exec"], lastSeenAtMs: at(4), connections: 0 },
      ],
    },
  }),
  view("devices mint phone", { "devices.mint": { id: "d3", token: "tok" } }),
  view("devices mint phone --scopes write,_read", { "devices.mint": { id: "d3", token: "tok" } }),
  view("devices mint phone --scopes read,all,none", {}),
  view("devices revoke d1", { "devices.revoke": { id: "d1", name: "laptop", closed: 2 } }),
  view("devices rotate d1", { "devices.rotate": { id: "d1", name: "ci", closed: 1, token: "tok" } }),
  view("devices rotate d1", {
    "devices.rotate": {
      id: "d1",
      name: "laptop",
      closed: 1,
      code: "AB",
      url: "http://x",
      grants: [],
      handed: true,
    },
  }),
  view("devices rotate d1 --by-hand", {
    "devices.rotate": {
      id: "d1",
      name: "laptop",
      closed: 1,
      code: "AB",
      url: "http://x",
      grants: ["run"],
      handed: false,
    },
  }),
  view("devices unlock", { "devices.unlock": { lifted: 0 } }),
  view("devices unlock", { "devices.unlock": { lifted: 1 } }),
  view("devices link", { "devices.link": { url: "http://x/#code=1" } }),
  view("reload", {
    reload: { outcome: "unchanged", changed: [], restarted: [], restartNeeded: [], problems: [] },
  }),
  view("reload", {
    reload: {
      outcome: "taken",
      changed: ["logging.level", "agents"],
      restarted: ["telegram:default", "discord:default"],
      restartNeeded: ["gateway.port", "store"],
      problems: [],
    },
  }),
  view("reload", {
    reload: {
      outcome: "refused",
      changed: ["agents"],
      restarted: [],
      restartNeeded: [],
      problems: ["2:3 unknown key", "3:1 no"],
    },
  }),
  view("resume", { resume: { resumed: true } }),
  view("resume", { resume: { resumed: false } }),
  view("tools hold", { "tools.hold": { held: true } }),
  view("tools hold", { "tools.hold": { held: false } }),
  view("tools resume", { "tools.resume": { resumed: true } }),
  view("tools resume", { "tools.resume": { resumed: false } }),
  view("restart --no-wait", { status, restart: {} }),
  view("pair approve ABCD2345", { "pairing.approve": person }),
  view("pair revoke telegram:7", {
    "pairing.revoke": { ...person, account: "work", senderId: "8", senderName: "Bob" },
  }),
  view("sessions compact k", { "sessions.compact": { id: "op:1" } }),
  view("sessions compact k the_numbers", { "sessions.compact": { id: "op:2" } }),
  view("sessions show k --epoch 1 --limit 1000", { "sessions.show": { ...session, entries: [] } }),
  view("sessions list --limit 1", { "sessions.list": { sessions: [session] } }),
  view("sessions show k --epoch 2", { "sessions.show": { ...session, epoch: 2, entries: [] } }),
  view("sessions set k --reasoning default", { "sessions.patch": { ...session, model: "lab/deep" } }),
  view("channels list", { "channels.list": { channels: [] } }),
  view("channels places", { "channels.places": { places: [] } }),
  view("channels places --account telegram:work", {
    "channels.places": {
      places: [
        { ...place, names: ["Eve", "Bob", "Kim", "Lee"] },
        { ...place, conversation: "telegram:work:group:-5", title: "Beans", names: [], lastAtMs: at(2) },
      ],
    },
  }),
  ...(
    [
      ["telegram:1", { state: "ambiguous", parts: [{ ...part, state: "ambiguous", reason: "timed out" }] }],
      ["telegram:2", { state: "ambiguous", parts: [] }],
      ["telegram:3", { state: "failed", parts: [{ ...part, state: "failed" }] }],
      ["telegram:4", { state: "sent", parts: [{ ...part, messageId: null }, part] }],
      ["telegram:5 --timeout 0", { state: "open" }],
      ["telegram:6 --timeout 0", { state: "waiting" }],
      ["telegram:7 --no-wait", { state: "waiting" }],
    ] as const
  ).map(([words, more]) =>
    view(`channels test ${words}`, {
      "channels.test": { id: "test:1", conversation: "c" },
      "outbox.show": { ...delivery, id: "test:1", conversation: "c", ...more },
    }),
  ),
  view("devices revoke d1 --grant run,_notify", {
    "devices.revoke": { id: "d1", name: "laptop", closed: 0, grants: ["files", "camera"] },
  }),
  view("devices revoke d1 --grant files", {
    "devices.revoke": { id: "d1", name: "laptop", closed: 0, grants: [] },
  }),
  view("devices pair --name laptop --grant run,screenshot,files", { "devices.pair": paired }),
  view("devices pair --name phone", { "devices.pair": { ...paired, link: "http://127.0.0.1:1/pair/#AB" } }),
  view("devices pair --name phone --grant camera", { "devices.pair": paired }),
  ...["localhost:1", "[::1]:1", "192.168.0.7:1"].map((host) =>
    view("devices pair --name phone", { "devices.pair": { ...paired, link: `http://${host}/#A` } }),
  ),
  view("devices rotate d2", {
    "devices.rotate": { ...paired, id: "d2", name: "phone", closed: 0, grants: ["run", "camera"] },
  }),
  // What is wrong, or one beyond a limit.
  ...[
    "channels places --account Telegram",
    "channels places --account telegram:",
    "channels test telegram:7 --timeout soon",
    "channels test telegram:7 --timeout 86401",
    "channels test telegram:7 --timeout -1",
    "devices pair --grant run",
    "devices pair --name x --grant run,all",
    "devices revoke d1 --grant none",
    "restart --timeout 1m",
    "sessions set k --reasoning loud",
    "send",
    "send --no-wait _",
    "send --file /not/there hi",
    "chat --file /not/there",
    "migrate",
    "migrate --to mysql",
    "completion tcsh",
    "config",
    "config --json",
    "pair aprove x",
    "status --nope",
    "chat --thread",
    "channels test telegram:7 --account Work:1",
    "status now",
    "pair approve",
    "pair approve a b",
    "sessions list --limit 0",
    "sessions list --limit 1001",
    "sessions show k --limit 1.5",
    "sessions show k --epoch 0",
    "sessions set k",
    "sessions set k --thinking loud",
  ].map((command) => view(command, {})),
];
