// A chat that asks for an update hears once how it ended, also when nothing came of it.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog, version } from "@parley/protocol";
import type { Cell } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { lockUpdate, writeRecord, type UpdateRecord } from "@parley/update";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { update as command } from "../../src/commands/decide/update.ts";
import { selfUpdate, type EndedUpdate, type SelfUpdate } from "../../src/update/self-update.ts";

let home: string;
let told: string[];
let runs: (readonly string[])[];
/** So many reads of a cell fail. */
let failures = 0;
const cells = new Map<string, Cell>();
const clock = virtualClock();

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  [told, runs, failures] = [[], [], 0];
  cells.clear();
});

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
      async put(key, value) {
        const cell = { key, value, version: 1, expiresAtMs: null };
        cells.set(key, cell);
        return cell;
      },
    },
    node,
    outbox: { post: async (rows) => void told.push(JSON.stringify(rows)) },
    clock,
    log: silentLog,
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
    record("turn:old", { state: "done", reason: "older", endedAtMs: clock.now() });
    await boot().look(hears);
    record("turn:old", { state: "done", reason: "stale", endedAtMs: clock.now() - 86_400_001 });
    await boot().look(hears);
    expect(heard).toEqual(["first", "older"]);
  });
});

test("how it is installed and how the last update went is told without asking any release source", async () => {
  record("a", { state: "went-back", reason: "it did not answer" });
  expect(await boot().check(false)).toMatchObject({
    installed: { version, root: expect.stringMatching(/\S/) },
    newest: null,
    update: false,
    problem: null,
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
