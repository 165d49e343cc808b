// What an operator is shown of the gateway, whole, with every state in it: the status, the audit by its
// pages, the calls of a conversation's tools, and which files are old enough to go.
import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { oldFiles, type OldFiles } from "../../src/maintenance/old-files.ts";
import { auditMethods } from "../../src/operator/audit.ts";
import { nextTry } from "../../src/operator/outbox.ts";
import { statusMethods } from "../../src/operator/status.ts";
import { threadMethods } from "../../src/operator/sessions/threads.ts";
import { isWithin } from "../../src/schedules/heartbeats.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-views-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const child = (id: string, state: string | null): object => ({
  v: 1,
  id,
  session: `agent:main:subagent:${id}`,
  parent: "agent:main:main",
  turn: "t",
  label: id,
  task: id,
  mode: "run",
  model: null,
  startedAtMs: 1,
  asker: { session: "agent:main:main", pool: "main", epoch: 1, reply: "push", hops: 0 },
  runs: 1,
  killed: false,
  end: state === null ? null : { state, reason: null, tokens: 1, atMs: 2 },
});

interface StatusCase {
  readonly report?: object;
  readonly held?: object | null;
  readonly isDown?: boolean;
}

function statusOf({ report = { state: "ok", reasons: [] }, held = null, isDown = false }: StatusCase) {
  const asked: unknown[] = [];
  const clock = virtualClock({ startMs: 5_000 });
  const or = async <T>(value: T): Promise<T> => {
    if (isDown) throw new Error("the store is away");
    return value;
  };
  const channel = (name: string, account: string): object => ({
    name,
    account,
    health: () => ({ state: "ok", lastInboundAtMs: 7 }),
  });
  const wired = [
    channel("telegram", "a"),
    channel("discord", "b"),
    channel("discord", "c"),
    channel("web", "d"),
  ];
  const methods = statusMethods({
    clock,
    bootId: "boot",
    configPath: "/home/parley.json5",
    configNow: () => ({ agents: { defaults: { model: { primary: "vendor/one" } } } }),
    configState: () => ({ takenAtMs: 9, problems: ["p"], restartNeeded: ["k"], more: 1 }),
    state: { report: async () => report, hears: (of: { account: string }) => of.account === "a" },
    store: {
      turns: {
        list: (...what: readonly [string | undefined, number]) => (
          asked.push(["turns", ...what]),
          or(
            what[0] === "subagent"
              ? [
                  { lane: "agent:main:subagent:1", holder: "boot" },
                  { lane: "agent:main:subagent:2", holder: null },
                ]
              : [{ waiting: 2 }, { waiting: 3 }],
          )
        ),
      },
      outbox: {
        list: (...what: readonly unknown[]) => (
          asked.push(["outbox", ...what]),
          or([{ waiting: 1 }, { waiting: 0 }, { waiting: 6 }])
        ),
      },
      troubled: () => or({ rows: 9, deliveries: 6 }),
      cells: {
        list: () =>
          or(
            [null, null, null, "answered", "failed", "failed"].map((state, at) => ({
              value: JSON.stringify(child(`${at + 1}`, state)),
            })),
          ),
      },
    },
    listNodes: () =>
      or([
        { node: "one", up: false, leads: ["discord:b"] },
        { node: "two", up: true, leads: ["web:d", "discord:b"] },
      ]),
    hold: { now: () => or(held) },
    running: { count: () => 8 },
    wired: { channels: new Map(wired.map((each, at) => [at, each])) },
    work: { heartbeats: { counts: new Map([["sent", 2]]) } },
  } as never);
  return { ...methods, asked, clock };
}

test("the status: counts, whose account is where, and what still shows while the store is away", async () => {
  const { status, health, "channels.list": list, asked, clock } = statusOf({});
  // It began when it was made, not when it is asked.
  await clock.advance(1_000);
  const shown = await status();
  expect(asked).toEqual([
    ["turns", undefined, 1_000],
    ["outbox", undefined, 1_000],
    ["turns", "subagent", 1_000],
  ]);
  const { memoryBytes, ...known } = shown;
  expect(memoryBytes).toBeGreaterThan(1_000_000);
  const channels = [
    { channel: "telegram", account: "a", state: "ok", lastInboundAtMs: 7 },
    { channel: "discord", account: "b", state: "elsewhere", reason: "node two leads it" },
    { channel: "discord", account: "c", state: "elsewhere", reason: "no node leads it yet" },
    { channel: "web", account: "d", state: "elsewhere", reason: "node two leads it" },
  ];
  expect(known).toEqual({
    version,
    pid: process.pid,
    bootId: "boot",
    startedAtMs: 5_000,
    state: "ok",
    reasons: [],
    configPath: "/home/parley.json5",
    config: { takenAtMs: 9, problems: ["p"], restartNeeded: ["k"] },
    model: "vendor/one",
    channels,
    turnsRunning: 8,
    rowsWaiting: 5,
    deliveriesWaiting: 7,
    deadRows: 9,
    deliveriesTroubled: 6,
    heartbeats: { sent: 2 },
    subagents: { running: 1, waiting: 2, ended: { answered: 1, failed: 2 } },
  });
  expect(await list()).toEqual({ channels });
  expect(await health()).toEqual({ ok: true, reasons: [] });

  const away = await statusOf({ isDown: true }).status();
  expect(away).toMatchObject({ rowsWaiting: 0, deliveriesWaiting: 0, deadRows: 0, deliveriesTroubled: 0 });
  expect(away).not.toHaveProperty("subagents");
  expect([away.state, away.reasons, away.turnsRunning, away.channels[0]]).toEqual(["ok", [], 8, channels[0]]);
  expect(away.channels[1]).toMatchObject({ reason: "no node leads it yet" });
});

test("memory that cannot be measured is told as it was last; another failure of measuring is no answer", async () => {
  const rss = vi.spyOn(process.memoryUsage, "rss");
  onTestFinished(() => rss.mockRestore());
  const bytes = async () => (await statusOf({}).status()).memoryBytes;
  rss.mockReturnValueOnce(77);
  expect(await bytes()).toBe(77);
  const fails = (syscall: string) =>
    rss.mockImplementationOnce(() => {
      throw Object.assign(new Error(`${syscall} failed`), { syscall });
    });
  fails("uv_resident_set_memory");
  expect(await bytes()).toBe(77);
  rss.mockReturnValueOnce(88);
  expect(await bytes()).toBe(88);
  fails("open");
  await expect(bytes()).rejects.toThrow("open failed");
});

test("held tools make a well gateway a degraded one, and leave a worse state as it is", async () => {
  const held = { by: "Ada" };
  const words = 'all tools are held by /estop of Ada; "parley tools resume" lets them go on';
  const state = async (report?: object): Promise<readonly unknown[]> => {
    const shown = await statusOf({ held, ...(report === undefined ? {} : { report }) }).status();
    return [shown.state, ...shown.reasons];
  };
  expect(await state()).toEqual(["degraded", words]);
  expect(await state({ state: "safe-mode", reasons: ["3 crashes"] })).toEqual([
    "safe-mode",
    "3 crashes",
    words,
  ]);
  const { health } = statusOf({ report: { state: "starting", reasons: ["x"] } });
  expect(await health()).toEqual({ ok: false, reasons: ["x"] });
});

test("the audit over all its files, by time, method and token, a page of the newest and the one before it", async () => {
  await mkdir(join(home, "audit"));
  const line = (atMs: number, method: string, by: string): string => JSON.stringify({ atMs, method, by });
  await writeFile(join(home, "audit/audit.9.log"), `${line(1, "restart", "a")}\n`);
  await writeFile(join(home, "audit/audit.10.log"), `${line(0, "too.old", "a")}\n`);
  await writeFile(join(home, "audit/audit.1.log"), `${line(2, "config.set", "b")}\n{"cut\n\n`);
  await writeFile(
    join(home, "audit/audit.log"),
    [line(3, "config.apply", "a"), line(4, "restart", "b"), line(5, "dead.drop", "a"), ""].join("\n"),
  );
  const { "audit.list": list } = auditMethods({ home });
  const page = async (params: object): Promise<string> => {
    const { records, more } = await list(params as never);
    return `${records.map(({ atMs }) => atMs).join(" ")}${more ? " and more" : ""}`;
  };
  const table = [
    {},
    { limit: 5 },
    { limit: 4 },
    { limit: 2, skip: 2 },
    { limit: 2, skip: 4 },
    { skip: 5 },
    { skip: 9 },
    { sinceMs: 4 },
    { method: "config" },
    { method: "start", by: "b" },
    { by: "a", limit: 1 },
    { by: "c" },
  ];
  expect(await Promise.all(table.map(page))).toEqual([
    "1 2 3 4 5",
    "1 2 3 4 5",
    "2 3 4 5 and more",
    "2 3 and more",
    "1",
    "",
    "",
    "4 5",
    "2 3",
    "4",
    "5 and more",
    "",
  ]);
  expect(await auditMethods({ home: join(home, "none") })["audit.list"]({} as never)).toEqual({
    records: [],
    more: false,
  });
  await mkdir(join(home, "many/audit"), { recursive: true });
  const many = Array.from({ length: 201 }, (_, at) => line(at, "restart", "a"));
  await writeFile(join(home, "many/audit/audit.log"), `${many.join("\n")}\n`);
  const { records, more } = await auditMethods({ home: join(home, "many") })["audit.list"]({} as never);
  expect([records.length, records[0]?.atMs, more]).toEqual([200, 1, true]);
});

test("the calls of tools in a conversation: ended turns from the transcript, the open one from its log", async () => {
  const call = (id: string, args: object = {}): object => ({
    type: "toolCall",
    id,
    name: `tool-${id}`,
    args,
  });
  const asks = (atMs: number, ...calls: readonly object[]): object => ({
    type: "assistant",
    content: [{ type: "text", text: "hm" }, ...calls],
    model: "m",
    stop: "toolUse",
    usage: {},
    atMs,
  });
  const gives = (callId: string, atMs: number, text: string, isError = false): object => ({
    type: "toolResult",
    callId,
    name: "x",
    content: [
      { type: "text", text },
      { type: "image", path: "p" },
    ],
    isError,
    atMs,
  });
  const said = (turn: string, ...entries: readonly object[]): readonly object[] =>
    entries.map((entry) => ({ turn, body: JSON.stringify(entry) }));
  const logged = (kind: string, entry: object): object => ({ kind, body: JSON.stringify({ kind, entry }) });
  let many: readonly object[] = [];
  const looked: unknown[] = [];
  const ports = (state: string): never =>
    ({
      wired: { web: { account: "default" } },
      clock: virtualClock(),
      route: () => ({ session: "lane" }),
      store: {
        cells: {},
        inbox: {
          find: async ({ state: of, ...how }: { state: string }) => (
            looked.push([of, how]),
            of === "claimed"
              ? [{ turn: "t2" }]
              : [
                  { id: "here", conversation: "web:default:dm:p" },
                  { id: "elsewhere", conversation: "web:default:dm:p:other" },
                ]
          ),
        },
        sessions: {
          transcript: async (...what: readonly unknown[]) => [
            ...(looked.push(what), []),
            ...many,
            ...said("t0", asks(1, call("a", { path: "x" })), gives("a", 2, "done")),
            ...said("t1", asks(3, call("b"), call("c")), gives("c", 4, "broke", true)),
            ...said("t1", { type: "user", content: [], rows: [], atMs: 3 }),
          ],
        },
        turns: {
          find: async () => ({
            id: "t2",
            state,
            log: [
              logged("preview", {}),
              logged("model", asks(5, call("a"), call("d", { text: "y".repeat(7_984) }))),
              logged("intent", {}),
              logged("result", gives("d", 6, "z".repeat(7_993))),
              logged("absorbed", {}),
            ],
          }),
        },
      },
    }) as never;
  const steps = (state: string, limit?: number) =>
    threadMethods(ports(state))["chat.steps"]({ limit } as never, { peer: "p", scopes: [] } as never);
  const shown = await steps("running");
  expect(shown).toMatchObject({ working: true, waiting: ["here"] });
  expect(looked).toEqual([
    ["waiting", { lane: "lane", limit: 200 }],
    ["claimed", { lane: "lane", limit: 1 }],
    ["lane", { newest: true, limit: 400 }],
  ]);
  expect(shown.calls.map(({ args: _args, output: _output, ...rest }) => rest)).toEqual([
    { id: "a", turn: "t0", tool: "tool-a", state: "ok", startedAtMs: 1, endedAtMs: 2 },
    { id: "b", turn: "t1", tool: "tool-b", state: "running", startedAtMs: 3, endedAtMs: null },
    { id: "c", turn: "t1", tool: "tool-c", state: "failed", startedAtMs: 3, endedAtMs: 4 },
    { id: "a", turn: "t2", tool: "tool-a", state: "running", startedAtMs: 5, endedAtMs: null },
    { id: "d", turn: "t2", tool: "tool-d", state: "ok", startedAtMs: 5, endedAtMs: 6 },
  ]);
  expect(shown.calls[0]).toMatchObject({ args: '{\n  "path": "x"\n}', output: "done\n[image]" });
  // Eight thousand characters are shown whole, one more is cut.
  const [, , , , long] = shown.calls;
  expect(long?.output).toBe(`${"z".repeat(7_993)}\n[image`.concat("\n… (8001 characters)"));
  expect(long?.args).toHaveLength(8_000);
  expect((await steps("done")).calls.map(({ turn }) => turn)).toEqual(["t0", "t1", "t1"]);
  expect((await steps("running", 2)).calls.map(({ id }) => id)).toEqual(["a", "d"]);
  many = Array.from({ length: 98 }, (_, n) => said(`m${n}`, asks(0, call(`m${n}`)))).flat();
  const hundred = (await steps("running")).calls.map(({ id }) => id);
  expect([hundred.length, hundred[0], hundred.at(-1)]).toEqual([100, "m3", "d"]);
  const one = await threadMethods(ports("running"))["chat.steps"](
    { call: "d", chars: 9 } as never,
    { peer: "p", scopes: [] } as never,
  );
  expect(one.calls.map(({ id, output }) => [id, output])).toEqual([
    ["d", `${"z".repeat(9)}\n… (8001 characters)`],
  ]);
});

test("each try of a delivery has one successor", () => {
  expect(["x", "x~2", "x~9", "x~", "a~b", "a\nb~2"].map(nextTry)).toEqual([
    "x~2",
    "x~3",
    "x~10",
    "x~~2",
    "a~b~2",
    "a\nb~3",
  ]);
});

test("active hours hold from their start to before their end, over midnight too, in the zone that is meant", () => {
  const at = (hour: number, minute: number): number => Date.UTC(2026, 0, 5, hour, minute);
  const times = [at(7, 59), at(8, 0), at(21, 59), at(22, 0), at(0, 0)];
  const within = (start: string, end: string, timezone = "UTC", userZone = "UTC"): string =>
    times.map((nowMs) => (isWithin({ start, end, timezone }, userZone, nowMs) ? "y" : "-")).join("");
  expect({
    day: within("08:00", "22:00"),
    night: within("22:00", "08:00"),
    never: within("08:00", "08:00"),
    "to midnight": within("08:00", "24:00"),
    "of the user": within("08:00", "22:00", "user", "Asia/Tokyo"),
    "of a zone": within("08:00", "22:00", "America/New_York", "Asia/Tokyo"),
  }).toEqual({
    day: "-yy--",
    night: "y--yy",
    never: "-----",
    "to midnight": "-yyy-",
    // 16:59, 17:00, 06:59, 07:00 and 09:00
    "of the user": "yy--y",
    // 02:59, 03:00, 16:59, 17:00 and 19:00
    "of a zone": "--yyy",
  });
});

test("which files go: those past their time, then the oldest over size or number, never the newest or those in use", async () => {
  const nowMs = 1_000_000;
  const folder = join(home, "files");
  await mkdir(join(folder, "own-folder.x"), { recursive: true });
  for (const [at, name] of ["a.x", "b.x", "c.x", "d.x"].entries()) {
    await writeFile(join(folder, name), "x".repeat(10));
    const seconds = (nowMs - (4 - at) * 100_000) / 1_000;
    await utimes(join(folder, name), seconds, seconds);
  }
  await writeFile(join(folder, "foreign.y"), "y");
  await symlink(join(folder, "a.x"), join(folder, "link.x"));
  const gone = async (rule: Partial<OldFiles>): Promise<string> => {
    const found = await oldFiles({ folder, names: /^[\w-]+\.x$/, ...rule }, nowMs);
    return found.map(({ path }) => path.slice(folder.length + 1, -2)).join("");
  };
  // They are 400, 300, 200 and 100 seconds old.
  const keep =
    (...names: readonly string[]) =>
    async () =>
      new Set(names.map((name) => `${name}.x`));
  const table: readonly (readonly [Partial<OldFiles>, string])[] = [
    [{}, ""],
    [{ keepMs: 400_000 }, ""],
    [{ keepMs: 399_999 }, "a"],
    [{ keepMs: 0 }, "abcd"],
    [{ keepMs: 0, neededMs: 200_000 }, "abc"],
    [{ keepMs: 0, neededMs: 200_001 }, "ab"],
    [{ keepMs: 0, keepNewest: 3 }, "a"],
    [{ maxBytes: 40 }, ""],
    [{ maxBytes: 39 }, "a"],
    [{ maxBytes: 20 }, "ab"],
    [{ maxBytes: 0, neededMs: 150_000 }, "abc"],
    [{ most: 4 }, ""],
    [{ most: 3 }, "a"],
    [{ maxBytes: 20, inUse: keep("a") }, "bc"],
    [{ keepMs: 250_000, inUse: keep("a", "b") }, ""],
    [{ keepMs: 250_000, inUse: keep("b", "foreign") }, "a"],
  ];
  for (const [rule, names] of table) expect([rule, await gone(rule)]).toEqual([rule, names]);
  expect(await oldFiles({ folder: join(home, "none"), names: /x/ }, nowMs)).toEqual([]);
  const asked: string[] = [];
  await gone({ keepMs: 400_000, inUse: async (names) => (asked.push(...names), names) });
  expect(asked).toEqual([]);
});
