// A chat that asks for an update hears once how it ended, also when nothing came of it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog, version } from "@parley/protocol";
import type { Cell } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { writeRecord, type UpdateRecord } from "@parley/update";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { update as command } from "../../src/commands/update.ts";
import { selfUpdate, type SelfUpdate } from "../../src/update/self-update.ts";

let home: string;
let told: string[];
let runs: (readonly string[])[];
const cells = new Map<string, Cell>();
const clock = virtualClock();

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  [told, runs] = [[], []];
  cells.clear();
});

function boot(): SelfUpdate {
  return selfUpdate({
    home,
    env: {},
    cells: {
      get: async (key) => cells.get(key) ?? null,
      async put(key, value) {
        const cell = { key, value, version: 1, expiresAtMs: null };
        cells.set(key, cell);
        return cell;
      },
    },
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
  record("a", { state: "trying" });
  await clock.advance(10_000);
  expect(await updates.ask(by("c"), undefined)).toMatch(/^An update runs already/);
  expect(runs).toHaveLength(1);
  record("a", { state: "failed", reason: "there is no folder" });
  await clock.advance(10_000);
  await boot().look();
  expect(told).toEqual([expect.stringContaining("I did not update: there is no folder")]);
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
