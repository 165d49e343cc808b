// Small groups of the operator's methods, whole: the backups there are, a restart and a reload, the newest
// lines of the log, updates, lanes, and places that agents know.
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { textDelivery, unreachableChats } from "@parley/delivery";
import { conversationKey, type Address, type SessionKey } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { absolute, ownFile, runningDatabase } from "../../src/operator/backup.ts";
import { backupMethods } from "../../src/operator/backups.ts";
import { channelMethods } from "../../src/operator/channels.ts";
import { lifecycleMethods } from "../../src/operator/lifecycle.ts";
import { logMethods } from "../../src/operator/logs.ts";
import { operateMethods } from "../../src/operator/operate.ts";
import { retentionMethods } from "../../src/operator/retention.ts";
import { chatMethods } from "../../src/operator/sessions/chat.ts";
import { threadMethods } from "../../src/operator/sessions/threads.ts";
import { updateMethods } from "../../src/operator/updates.ts";
import { operateFixture } from "./operate-fixture.ts";

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "parley-small-"))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    (value) => `went through: ${JSON.stringify(value)}`,
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  );

test("backups on a schedule are listed newest first with the time of their name, and nothing else that lies there", async () => {
  const list = (backup: object) =>
    backupMethods({ configNow: () => ({ backup }) as never, home })["backups.list"]();
  expect(await list({ keep: 3, folder: "backups" })).toEqual({
    folder: join(home, "backups"),
    everyHours: null,
    keep: 3,
    backups: [],
  });
  const folder = join(home, "elsewhere");
  mkdirSync(folder);
  for (const [name, bytes] of [
    ["parley-2026-01-02T03-04-05Z.db", 1],
    ["parley-2026-01-10T03-04-05Z.db.sealed", 3],
    ["parley-2026-01-02T11-04-05Z.db", 2],
    ["parley-2026-01-11T03-04-05Z.db.partial", 4],
    ["notes.db", 5],
  ] as const)
    writeFileSync(join(folder, name), "x".repeat(bytes));
  // It went while they were listed.
  symlinkSync(join(folder, "nowhere"), join(folder, "parley-2026-01-03T00-00-00Z.db"));
  const shown = (name: string, bytes: number, atMs: number, sealed = false) => {
    return { name, path: join(folder, name), bytes, atMs, sealed };
  };
  expect(await list({ keep: 7, everyHours: 6, folder })).toEqual({
    folder,
    everyHours: 6,
    keep: 7,
    backups: [
      shown("parley-2026-01-10T03-04-05Z.db.sealed", 3, Date.UTC(2026, 0, 10, 3, 4, 5), true),
      shown("parley-2026-01-02T11-04-05Z.db", 2, Date.UTC(2026, 0, 2, 11, 4, 5)),
      shown("parley-2026-01-02T03-04-05Z.db", 1, Date.UTC(2026, 0, 2, 3, 4, 5)),
    ],
  });
  const many = join(home, "many");
  mkdirSync(many);
  const name = (n: number) => `parley-2026-01-01T00-${`${n}`.padStart(4, "0").replace(/..$/, "-$&")}Z.db`;
  for (let n = 0; n < 501; n += 1) writeFileSync(join(many, name(n)), "");
  const newest = (await list({ keep: 1, folder: many })).backups;
  expect([newest.length, newest[0]?.name, newest.at(-1)?.name]).toEqual([500, name(500), name(1)]);
  writeFileSync(join(home, "file"), "");
  await expect(list({ keep: 1, folder: join(home, "file") })).rejects.toThrow("ENOTDIR");
});

test("a running daemon copies its own file to an absolute path, and restores none", async () => {
  const asked: unknown[] = [];
  const jobs = { backup: async (...what: readonly unknown[]) => (asked.push(what), 42) };
  const { backup, restore } = runningDatabase("/h/state.db", jobs);
  const call = {} as never;
  expect(await backup({ path: "/b/x.db", passphrase: "p" }, call)).toEqual({ path: "/b/x.db", bytes: 42 });
  expect(asked).toEqual([["/h/state.db", "/b/x.db", "p"]]);
  expect(await refusal(backup({ path: "x.db" }, call))).toBe('invalid: "x.db" is not an absolute path');
  expect(await refusal(restore({ path: "/b/x.db" }, call))).toBe(
    'unsupported: the gateway runs on this database: stop it, then run "parley restore <file>"',
  );
  const elsewhere = runningDatabase(null, jobs);
  for (const work of [elsewhere.backup({ path: "/b" }, call), elsewhere.restore({ path: "/b" }, call)])
    expect(await refusal(work)).toMatch(/^unsupported: the data is in Redis/);
  expect(asked).toHaveLength(1);
  expect([ownFile("/h/state.db"), absolute("/b")]).toEqual(["/h/state.db", "/b"]);
});

test("a restart is asked for with its reason, and told with what still ran; a reload and the end of safe mode with what came of them", async () => {
  const did: unknown[] = [];
  const reloaded = {
    outcome: "taken",
    changed: ["a"],
    restarted: ["b"],
    restartNeeded: ["c"],
    problems: ["d"],
  } as const;
  const methods = lifecycleMethods(
    {
      restart: async (reason) => void did.push(["restart", reason]),
      reload: async (cause) => (did.push(["reload", cause]), { ...reloaded, more: 1 }),
      resume: async () => true,
    },
    async () => {
      did.push("status");
      return { pid: 7, turnsRunning: 2, deliveriesWaiting: 3, rowsWaiting: 4 } as never;
    },
  );
  const told = { pid: 7, turnsRunning: 2, deliveriesWaiting: 3 };
  expect([await methods.restart({ reason: "new key" }), await methods.restart({})]).toEqual([told, told]);
  expect(await methods.reload()).toEqual(reloaded);
  expect(await methods.resume()).toEqual({ resumed: true });
  expect(did).toEqual([
    "status",
    ["restart", "new key"],
    "status",
    ["restart", "asked for over the control plane"],
    ["reload", "asked for over the control plane"],
  ]);
});

test("the newest lines of the log, a hundred unless another number is asked for; only a connection that stays follows it", async () => {
  const asked: number[] = [];
  const { "logs.tail": tail } = logMethods({
    recentLog: { last: (count) => (asked.push(count), ["a", "b"]) },
  });
  const followed: string[] = [];
  const staying = { follow: (stream: string) => void followed.push(stream) } as never;
  expect(await tail({}, {} as never)).toEqual({ lines: ["a", "b"], following: false });
  expect(await tail({ lines: 3 }, staying)).toEqual({ lines: ["a", "b"], following: false });
  expect(followed).toEqual([]);
  expect(await tail({ lines: 0, follow: true }, staying)).toEqual({ lines: ["a", "b"], following: true });
  expect([asked, followed]).toEqual([[100, 3, 0], ["logs"]]);
  expect(await refusal(tail({ follow: true }, {} as never))).toMatch(/^unsupported: only a connection/);
});

test("an update is looked for, and asked for under an id of its own", async () => {
  const did: unknown[] = [];
  let n = 0;
  const methods = updateMethods({
    selfUpdate: {
      check: async (look) => (did.push(["check", look]), { current: "1" } as never),
      begin: async (...what) => void did.push(["begin", ...what]),
    },
    ids: { uuid: () => `id-${(n += 1)}` } as never,
  });
  expect(await methods["update.check"]({ look: true })).toEqual({ current: "1" });
  expect(await methods["update.run"]({ to: "1.2.3" })).toEqual({ asked: true });
  await methods["update.run"]({});
  expect(did).toEqual([
    ["check", true],
    ["begin", "control:id-1", "1.2.3"],
    ["begin", "control:id-2", undefined],
  ]);
});

test("lanes with work are told of sessions and of conversations, as many as asked; what is dropped tells who waits for it", async () => {
  const limits: unknown[] = [];
  const of = (name: string) => ({ lane: name, pool: "p", atMs: 1, holder: null, waiting: 2, more: 3 });
  const dropped: unknown[] = [];
  const lanes = (name: string) => async (pool: unknown, limit: number) => (
    limits.push([name, pool, limit]),
    [of(name)]
  );
  const methods = operateMethods({
    store: {
      inbox: {},
      turns: { list: lanes("session") },
      outbox: {
        list: lanes("conversation"),
        find: async () => [{ id: "d", done: false }],
        drop: () => Promise.reject(new Error("nobody would hear of it")),
      },
    },
    closed: {},
    dropDeliveries: async (...what: readonly unknown[]) => (dropped.push(what), 1),
    listNodes: async () => [{ node: "n", up: true, leads: ["telegram:a"] }],
    clock: {},
  } as never);
  const shown = (name: string) => ({ lane: name, pool: "p", atMs: 1, holder: null, waiting: 2 });
  expect(await methods["lanes.list"]({})).toEqual({
    sessions: [shown("session")],
    conversations: [shown("conversation")],
  });
  await methods["lanes.list"]({ limit: 7 });
  expect(limits).toEqual([
    ["session", undefined, 100],
    ["conversation", undefined, 100],
    ["session", undefined, 7],
    ["conversation", undefined, 7],
  ]);
  expect(await methods["nodes.list"]({})).toEqual({
    nodes: [{ node: "n", up: true, leads: ["telegram:a"] }],
  });
  expect(await methods["outbox.drop"]({ id: "d" })).toEqual({ id: "d" });
  expect(dropped).toEqual([[["d"], "dropped by an operator"]]);
});

test("a hundred dead messages are listed, and one that was a command goes on as a turn of its own", async () => {
  const at = await operateFixture();
  for (let n = 0; n < 101; n += 1)
    await at.accept(`${n}`, { as: { kind: "closed", outcome: "dead", reason: "bug" } });
  expect((await at.methods["dead.list"]({})).rows).toHaveLength(100);
  const [last] = await at.store.inbox.find({ outcome: "dead", limit: 1 });
  const payload = { ...(JSON.parse(last?.payload ?? "") as object), command: { name: "new", args: "" } };
  await at.accept("command", {
    as: { kind: "closed", outcome: "dead", reason: "bug" },
    payload: JSON.stringify(payload),
  });
  await at.methods["dead.retry"]({ id: "telegram:default:command" });
  await at.accept("after");
  expect((await at.take()).rows.map(({ id }) => id)).toEqual(["telegram:default:command~2"]);
});

test("places of all agents are listed once each with the newest first, without programs; an account's alone; a test says other words", async () => {
  const at = await operateFixture();
  const places: readonly (readonly [string, Address])[] = [
    ["main", { channel: "telegram", account: "default", kind: "dm", peer: "7" }],
    ["main", { channel: "telegram", account: "work", kind: "group", peer: "-5" }],
    ["other", { channel: "discord", account: "default", kind: "dm", peer: "8" }],
    ["other", { channel: "api", account: "default", kind: "dm", peer: "9" }],
  ];
  for (const [nth, [agent, address]] of places.entries()) {
    await at.clock.advance(1_000);
    const key = `agent:${agent}:${nth === 0 ? "main" : `telegram:dm:${nth}`}` as SessionKey;
    await at.accept(`${nth}`, { lane: key, conversation: conversationKey(address) });
    const turn = await at.take();
    await at.store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
  }
  const { "channels.places": list, "channels.test": send } = channelMethods({
    config: { agents: { list: [{ id: "main" }, { id: "other" }] } } as never,
    store: at.store,
    closed: unreachableChats(at.store.cells),
    wired: { channels: new Map([["telegram:default", 0] as const]) },
  });
  const listed = async (params: object) =>
    (await list(params)).places.map(({ conversation }) => conversation);
  expect(await listed({})).toEqual([
    "discord:default:dm:8",
    "telegram:work:group:-5",
    "telegram:default:dm:7",
  ]);
  const [first, group] = (await list({})).places;
  expect([first, group]).toEqual([
    {
      conversation: "discord:default:dm:8",
      channel: "discord",
      account: "default",
      kind: "dm",
      names: ["Eve"],
      title: null,
      lastAtMs: at.clock.now() - 1_000,
    },
    {
      conversation: "telegram:work:group:-5",
      channel: "telegram",
      account: "work",
      kind: "group",
      names: ["Eve"],
      title: null,
      lastAtMs: at.clock.now() - 2_000,
    },
  ]);
  expect(await listed({ account: "work" })).toEqual(["telegram:work:group:-5"]);
  expect(await listed({ channel: "discord", account: "work" })).toEqual([]);
  expect(await listed({ channel: "telegram" })).toEqual(["telegram:work:group:-5", "telegram:default:dm:7"]);
  expect(await listed({ channel: "telegram", account: "work" })).toEqual(["telegram:work:group:-5"]);
  await send({ to: "telegram:7", text: "my words", idempotencyKey: "k" });
  expect(await at.methods["outbox.show"]({ id: "test:k" })).toMatchObject({
    text: "my words",
    cause: "test:k",
  });
});

test("where no number is asked for, a hundred deliveries and messages are told, the newest; five hundred conversations", async () => {
  const at = await operateFixture();
  const to: Address = { channel: "telegram", account: "default", kind: "dm", peer: "7" };
  await at.store.outbox.post(Array.from({ length: 101 }, (_, n) => textDelivery(`d${n}`, to, "x", "c")));
  expect((await at.methods["outbox.list"]({})).deliveries).toHaveLength(100);
  const web = { channel: "web", account: "default", kind: "dm", peer: "web-1" } as const;
  for (let n = 0; n < 101; n += 1)
    await at.store.events.append(conversationKey(web), `e${n}`, JSON.stringify({ text: `${n}`, atMs: n }));
  for (let n = 0; n < 501; n += 1)
    await at.store.cells.put(`web-thread:default:web-1:t${n}`, JSON.stringify({ usedAtMs: n }), {});
  const ports = {
    wired: { web: { account: "default" } },
    route: () => ({ agent: "main", session: "agent:main:main" }),
    store: at.store,
    clock: at.clock,
  } as never;
  const caller = { peer: "web-1", scopes: ["read"] } as never;
  const { messages, hasEarlier } = await chatMethods(ports)["chat.history"]({}, caller);
  expect([messages.length, messages[0]?.atMs, hasEarlier]).toEqual([100, 1, true]);
  const { threads, left } = await threadMethods(ports)["chat.threads"]({}, caller);
  expect([threads.length, threads[0]?.thread, threads[1]?.thread, threads.at(-1)?.thread, left]).toEqual([
    500,
    null,
    "t500",
    "t2",
    2,
  ]);
});

test("what age takes is shown unless it is confirmed", async () => {
  const at = await operateFixture();
  const { config } = await loadConfig({
    env: {},
    home,
    readFile: async () => JSON.stringify({ retention: { logs: { days: 1 } } }),
  });
  mkdirSync(join(home, "logs"));
  const old = join(home, "logs/parley.1.log");
  writeFileSync(old, "x");
  utimesSync(old, 1, 1);
  const { "retention.run": run } = retentionMethods({
    config,
    store: { ...at.store, sweep: async () => false },
    home,
    clock: at.clock,
  } as never);
  const shown = await run({});
  expect([shown.done, existsSync(old)]).toEqual([false, true]);
  expect(shown.rules.find(({ count }) => count === 1)).toMatchObject({ name: "logs" });
  expect(await run({ confirm: true })).toEqual({ ...shown, done: true });
  expect(existsSync(old)).toBe(false);
});
