// A chat that asks for an update hears once how it ended, also when nothing came of it.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { silentLog, version, type Log, type MethodResult } from "@parley/protocol";
import type { Cell } from "@parley/store";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { lockUpdate, writeRecord, type UpdateRecord } from "@parley/update";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { update as command } from "../../src/commands/decide/update.ts";
import { selfUpdate, type EndedUpdate, type SelfUpdate } from "../../src/update/self-update.ts";

let home: string;
let told: string[];
let runs: (readonly string[])[];
/** Level and sentence of each line of the log. */
let logged: string[];
/** The same with its fields. */
let loggedLines: [level: string, message: string, fields: object][];
/** For how long each answer is kept. */
let kept: (number | undefined)[];
/** So many reads of a cell fail. */
let failures = 0;
const cells = new Map<string, Cell>();
let clock: VirtualClock;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  clock = virtualClock();
  [told, runs, logged, loggedLines, kept, failures] = [[], [], [], [], [], 0];
  cells.clear();
});

const line =
  (level: string) =>
  (fields: object, message: string): void => {
    logged.push(`${level}: ${message}`);
    loggedLines.push([level, message, fields]);
  };
const log: Log = { ...silentLog, info: line("info"), warn: line("warn"), error: line("error") };

function boot(node = "one"): SelfUpdate {
  return selfUpdate({
    home,
    env: {},
    cells: {
      get: async (key) => {
        if (failures > 0) throw new Error(`no disk, ${(failures -= 1)} times more`);
        return cells.get(key) ?? null;
      },
      list: async (prefix) => [...cells.values()].filter(({ key }) => key.startsWith(prefix)),
      async put(key, value, { ttlMs }) {
        kept.push(ttlMs);
        const cell = { key, value, version: 1, expiresAtMs: null };
        cells.set(key, cell);
        return cell;
      },
    },
    node,
    outbox: { post: async (rows) => void told.push(JSON.stringify(rows)) },
    clock,
    log,
    start: (args) => void runs.push(args),
  });
}

const by = (id: string) => ({
  id,
  address: { channel: "telegram", account: "default", kind: "dm", peer: "1" } as const,
});

function record(askedBy: string, changes: Partial<UpdateRecord>): void {
  const base = {
    id: "one",
    root: "/opt/parley",
    from: "1.0.0",
    to: "2.0.0",
    fromRef: "1.0.0",
    toRef: "2.0.0",
  };
  const none = { reason: null, backup: null, restore: null, replaced: null, kept: null, worked: null };
  const rest = { watchMs: 1, driver: process.pid, before: null, begunAtMs: 1, endedAtMs: null };
  writeRecord(home, { ...base, ...none, ...rest, state: "preparing", askedBy, ...changes });
}

test("a second request while one runs is told so, and the first is told its end once", async () => {
  const updates = boot();
  expect(await updates.ask(by("a"), undefined)).toMatch(/^I look for the new version/);
  expect(await updates.ask(by("b"), undefined)).toMatch(/^An update runs already/);
  const unlock = lockUpdate(home);
  record("a", { state: "trying" });
  await clock.advance(10_000);
  expect(await updates.ask(by("c"), undefined)).toMatch(/^An update runs already/);
  expect(runs).toHaveLength(1);
  record("a", { state: "failed", reason: "there is no folder" });
  unlock();
  await clock.advance(10_000);
  await boot().look();
  expect(told).toEqual([expect.stringContaining("I did not update: there is no folder")]);
});

test("whoever asked is told the end also when the looks for it failed meanwhile", async () => {
  const updates = boot();
  await updates.ask(by("a"), undefined);
  record("a", { state: "trying" });
  // Nobody can lock what is no database.
  await writeFile(join(home, "update.guard"), "no database".repeat(100));
  await clock.advance(10_000);
  await rm(join(home, "update.guard"));
  record("a", { state: "failed", reason: "there is no folder" });
  failures = 3;
  await clock.advance(20_000);
  expect([failures, told]).toEqual([0, [expect.stringContaining("there is no folder")]]);
  const later = boot();
  cells.set("chat-update:a", {
    ...(cells.get("chat-update:a") as Cell),
    value: JSON.stringify({ address: by("a").address, isOver: false }),
  });
  failures = 1;
  await expect(later.look()).rejects.toThrow("no disk");
  await clock.advance(10_000);
  expect(told).toHaveLength(2);
});

test("an update whose process died is gone on with, twice and no oftener", async () => {
  record("a", { state: "trying" });
  await boot().look();
  await clock.advance(60_000);
  expect(runs).toEqual([["--resume"], ["--resume"]]);
  const once = ["warn", "an update was not finished; it is gone on with", { update: "one", to: "2.0.0" }];
  expect(loggedLines).toEqual([once, once]);
});

test("a request whose program never ran is begun again after a crash, and told when it comes to nothing", async () => {
  await boot().ask(by("a"), "2.0.0");
  const after = boot();
  expect(await after.ask(by("a"), "2.0.0")).toMatch(/^I look for the new version/);
  expect(runs).toEqual([
    ["--asked-by", "a", "--to=2.0.0"],
    ["--asked-by", "a", "--to=2.0.0"],
  ]);
  await clock.advance(400_000);
  expect(told).toEqual([expect.stringContaining("it did not begin")]);
  const began = ["info", "an update was asked for", { askedBy: "a", to: "2.0.0" }];
  expect(loggedLines.slice(0, 2)).toEqual([began, began]);
  expect(loggedLines.slice(2)).toContainEqual([
    "error",
    "an update did not begin: logs/update.log of the state folder says why",
    { askedBy: "a" },
  ]);
});

test("whoever asked hears after five minutes that it did not begin, however often the process starts meanwhile", async () => {
  await boot().ask(by("a"), undefined);
  // Its process ends at once: its own looks are no part of this.
  const asked = cells.get("chat-update:a") as Cell;
  cells.clear();
  await clock.advance(200_000);
  cells.set(asked.key, asked);
  await boot().look();
  await clock.advance(90_000);
  expect(told).toEqual([]);
  await clock.advance(20_000);
  expect(told).toEqual([expect.stringContaining("it did not begin")]);
});

describe("a call of a tool", () => {
  const heard: (string | null)[] = [];
  const hears = async ({ reason }: EndedUpdate) => void heard.push(reason);
  beforeEach(() => void (heard.length = 0));

  test("is refused while another update has the lock, before and after that wrote its record", async () => {
    const updates = boot();
    const unlock = lockUpdate(home);
    await expect(updates.begin("turn:a", undefined)).rejects.toThrow("An update runs already");
    unlock();
    record("b", { state: "trying" });
    await expect(updates.begin("turn:a", undefined)).rejects.toThrow("An update runs already");
    expect([runs, cells.size]).toEqual([[], 0]);
    record("b", { state: "done", endedAtMs: 1 });
    await updates.begin("turn:a", undefined);
    await expect(updates.begin("turn:c", undefined)).rejects.toThrow("An update runs already");
    expect(runs).toEqual([["--asked-by", "turn:a"]]);
  });

  test("whose program met another's lock hears so once, also when a restart came between", async () => {
    const left = JSON.stringify({ address: null, isOver: false, node: "one" });
    cells.set("chat-update:turn:d", {
      key: "chat-update:turn:d",
      value: left,
      version: 1,
      expiresAtMs: null,
    });
    await boot("two").look(hears);
    const after = boot();
    await after.look(hears);
    record("b", { state: "done", endedAtMs: clock.now() });
    await clock.advance(400_000);
    await boot().look(hears);
    await clock.advance(400_000);
    // Of the other, nothing but its end.
    expect(heard).toEqual([null, expect.stringMatching(/^it did not begin/)]);
    expect(runs).toEqual([]);
  });

  test("hears how it ended once, from a version that kept nothing too, and never again after a day", async () => {
    await boot().begin("turn:a", undefined);
    record("turn:a", { state: "done", reason: "first", endedAtMs: clock.now() });
    for (let n = 0; n < 2; n += 1) await boot().look(hears);
    cells.clear();
    record("turn:old", { state: "done", reason: "older", endedAtMs: clock.now() - 86_399_999 });
    await boot().look(hears);
    record("turn:old", { state: "done", reason: "stale", endedAtMs: clock.now() - 86_400_000 });
    await boot().look(hears);
    expect(heard).toEqual(["first", "older"]);
  });
});

test("how it is installed and how the last update went is told without asking any release source", async () => {
  const root = fileURLToPath(new URL("../../../../", import.meta.url)).slice(0, -1);
  const here = {
    installed: { kind: expect.any(String) as string, version, root },
    newest: null,
    update: false,
    available: [],
    byHand: null,
    problem: null,
    last: null,
  };
  expect(await boot().check(false)).toEqual(here);
  record("a", { state: "went-back", reason: "it did not answer" });
  expect(await boot().check(false)).toEqual({
    ...here,
    last: { from: "1.0.0", to: "2.0.0", state: "went-back", reason: "it did not answer" },
  });
});

test("/update check looks and changes nothing, and an option of the command line is no version", async () => {
  const run = async (args: string) =>
    command.run(
      { inbound: by("a"), owner: true, args } as Parameters<typeof command.run>[0],
      {
        daemon: { updateCheck: async () => "looked", update: async () => "updated" },
      } as unknown as Parameters<typeof command.run>[1],
    );
  expect(await Promise.all(["check", "--check", "--resume", "2.0.0", ""].map(run))).toEqual([
    "looked",
    "looked",
    expect.stringMatching(/^Write \/update/) as string,
    "updated",
    "updated",
  ]);
});

test.each<[Partial<UpdateRecord>, string]>([
  [{ state: "done" }, "I am updated: Parley 2.0.0 runs, 1.0.0 before it."],
  [
    { state: "went-back", reason: "it did not answer" },
    "The update to 2.0.0 did not do (it did not answer). Parley 1.0.0 runs again.",
  ],
  [
    { state: "failed", reason: "HOME/releases/2.0.0 and HOME/state.db" },
    "I did not update: releases/2.0.0 and state.db",
  ],
  [{ state: "failed", reason: null }, "I did not update: "],
])("a chat is told the end %j where it asked, once, and for a day", async (changes, words) => {
  const updates = boot();
  await updates.ask(by("a"), undefined);
  const reason = changes.reason?.replaceAll("HOME", home) ?? null;
  record("a", { ...changes, reason, endedAtMs: clock.now() });
  await clock.advance(10_000);
  expect(told.map((rows) => JSON.parse(rows))).toEqual([
    [
      expect.objectContaining({
        id: "updated:a",
        pool: "telegram:default",
        lane: "telegram:default:dm:1",
        cause: "a",
      }),
    ],
  ]);
  expect(told[0]).toContain(JSON.stringify(JSON.stringify(words)).slice(3, -3));
  expect(kept).toEqual([86_400_000, 86_400_000]);
  // Redelivered, the same message asks for nothing more.
  expect(await updates.ask(by("a"), undefined)).toBeNull();
  expect([runs.length, clock.armed()]).toEqual([1, 0]);
});

test("who asked in a chat of another node is told by that node alone", async () => {
  const key = "chat-update:a";
  const value = JSON.stringify({ address: by("a").address, isOver: false, node: "two", atMs: clock.now() });
  cells.set(key, { key, value, version: 1, expiresAtMs: null });
  const here = boot("one");
  await here.look();
  await clock.advance(400_000);
  expect([told, clock.armed()]).toEqual([[], 0]);
  expect(await here.ask(by("a"), undefined)).toMatch(/^I look for the new version/);
  expect(runs).toEqual([]);
  await boot("two").look();
  await clock.advance(10_000);
  expect(told).toEqual([expect.stringContaining("it did not begin")]);
});

test("a request that an older version kept is begun again here", async () => {
  const key = "chat-update:a";
  const value = JSON.stringify({ address: by("a").address, isOver: false });
  cells.set(key, { key, value, version: 1, expiresAtMs: null });
  const here = boot();
  expect(await here.ask(by("a"), "2.0.0")).toMatch(/^I look for the new version/);
  expect(await here.ask(by("a"), "2.0.0")).toMatch(/^I look for the new version/);
  expect(runs).toEqual([["--asked-by", "a", "--to=2.0.0"]]);
  record("a", { state: "done", endedAtMs: clock.now() });
  await clock.advance(10_000);
  expect(told).toHaveLength(1);
});

test("each trouble of telling the end is logged once, the same again after a look that went well", async () => {
  const updates = boot();
  await updates.ask(by("a"), undefined);
  record("a", { state: "trying" });
  const guard = join(home, "update.guard");
  for (let times = 0; times < 2; times += 1) {
    // Nobody can lock what is no database.
    await writeFile(guard, "no database".repeat(100));
    await clock.advance(6_000);
    await rm(guard);
    await clock.advance(4_000);
  }
  const trouble = "error: the end of an update could not be told yet";
  expect(logged.filter((each) => each.startsWith("error"))).toEqual([trouble, trouble]);
});

test("what did not begin is told again until it could be, and who asks then may begin", async () => {
  const updates = boot();
  await updates.ask(by("a"), undefined);
  await clock.advance(299_000);
  failures = 2;
  await clock.advance(10_000);
  expect(told).toEqual([
    expect.stringContaining("it did not begin. My operator finds why in logs/update.log"),
  ]);
  expect(logged.filter((each) => each.includes("did not begin"))).toHaveLength(3);
  expect(await updates.ask(by("b"), undefined)).toMatch(/^I look for the new version/);
  record("b", { state: "done", endedAtMs: clock.now() });
  await clock.advance(4_000);
  expect([told.length, runs.length]).toEqual([2, 2]);
});

test.each<[Partial<MethodResult<"update.check">>, string]>([
  [{}, `I am Parley 1.0.0: there is nothing newer.`],
  [{ newest: "1.0.0" }, `I am Parley 1.0.0: there is nothing newer.`],
  [{ newest: "2.0.0", update: true }, "Parley 2.0.0 is there; I am 1.0.0. /update brings it."],
  [
    { newest: "2.0.0", update: true, byHand: "git pull" },
    "Parley 2.0.0 is there; I am 1.0.0. My operator brings it by hand.",
  ],
  [
    { newest: "2.0.0", update: true, problem: "HOME/releases cannot be read, nor HOME/x" },
    "I cannot look for a new version: releases cannot be read, nor x",
  ],
])("a chat that asks which version there is reads of %j", async (found, words) => {
  const none = { newest: null, update: false, available: [], byHand: null, problem: null, last: null };
  const installed = { kind: "folder", version: "1.0.0", root: "/opt/parley" };
  const updates = boot();
  const problem = found.problem?.replaceAll("HOME", home) ?? null;
  Object.assign(updates, { check: async () => ({ ...none, installed, ...found, problem }) });
  expect(await updates.checkInWords()).toBe(words);
});

test("a process that starts where nothing was asked and no update was looks no further", async () => {
  await boot().look();
  expect([clock.armed(), runs, told]).toEqual([0, [], []]);
  record("a", { state: "done", endedAtMs: 1 });
  const after = boot();
  await after.look();
  expect(clock.armed()).toBe(0);
  // It follows the next one, though it had come to rest.
  await after.ask(by("b"), undefined);
  expect(clock.armed()).toBe(1);
  record("b", { state: "done", endedAtMs: clock.now() });
  await clock.advance(10_000);
  expect([told.length, clock.armed()]).toEqual([1, 0]);
  await after.ask(by("c"), undefined);
  record("c", { state: "failed", reason: "no", endedAtMs: clock.now() });
  await clock.advance(10_000);
  expect([told.length, clock.armed()]).toEqual([2, 0]);
});
