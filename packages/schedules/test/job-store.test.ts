// Shows on a real store that looks and edits never undo each other, and that of two edits one is told.
import { silentLog } from "@parley/protocol";
import { sqliteStore, type SqliteStore } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { afterLook, dueSlots, editedJob, jobStore, staggerOf, wakeOf, type Job } from "../src/index.ts";
import { context, jobOf, startMs } from "./jobs.ts";

let store: SqliteStore;
beforeEach(async () => {
  store = await sqliteStore({
    path: ":memory:",
    bootId: "boot",
    clock: virtualClock({ startMs }),
    log: silentLog,
    onFatal: (error) => {
      throw error;
    },
  });
});
afterEach(() => store.close());

const edited = (job: Job, edit: object, nowMs = startMs): Job => {
  const decision = editedJob(job, edit, { ...context, nowMs });
  if (!decision.ok) throw new Error(JSON.stringify(decision.problems));
  return decision.job;
};
const looked = (job: Job, nowMs: number): Job => {
  const due = dueSlots(job, job.state.decidedMs, nowMs);
  return afterLook(job, due, due.fire.length);
};
const dayMs = 86_400_000;

test("a job is added once, found, listed in the order of ids and removed", async () => {
  const jobs = jobStore(store.cells);
  const job = jobOf();
  expect(await jobs.add(job)).toMatchObject({ ok: true, kept: { job } });
  expect(await jobs.add(job)).toMatchObject({ ok: false, refusal: "known" });
  await jobs.add({ ...job, id: "a" });
  expect((await jobs.list()).jobs.map((kept) => kept.job.id)).toEqual(["a", "brief"]);
  expect(await jobs.remove("brief", 2)).toBe(false);
  expect(await jobs.remove("brief", 1)).toBe(true);
  expect([await jobs.get("brief"), await jobs.remove("brief")]).toEqual([null, false]);
});

test("of two edits of one version the second is refused, and says which version there is", async () => {
  const jobs = jobStore(store.cells);
  const job = jobOf();
  await jobs.add(job);
  expect((await jobs.update(1, edited(job, { name: "First" }))).ok).toBe(true);
  expect(await jobs.update(1, edited(job, { name: "Second" }))).toMatchObject({
    ok: false,
    refusal: "changed",
    reason: expect.stringContaining("version 2") as string,
  });
  expect((await jobs.get("brief"))?.job.name).toBe("First");
  expect(await jobs.update(3, edited(job, { name: "Third" }))).toMatchObject({ refusal: "changed" });
  expect(await jobs.update(1, { ...job, id: "gone" })).toMatchObject({ refusal: "missing" });
});

test("a look between an edit's reading and writing keeps what it decided", async () => {
  const jobs = jobStore(store.cells);
  const job = jobOf();
  const added = await jobs.add(job);
  if (!added.ok) throw new Error(added.reason);
  const after = looked(job, startMs + dayMs);
  const write = jobs.writing(added.kept, after);
  await store.cells.put(write.key, write.value ?? "", { expect: write.expect ?? 0 });
  await jobs.update(1, edited(job, { name: "Other" }));
  expect((await jobs.get("brief"))?.job).toMatchObject({ name: "Other", version: 2, state: after.state });
  // The cell has grown since: what is made of the older one is refused.
  const late = jobs.writing(added.kept, after);
  expect(await store.cells.put(late.key, late.value ?? "", { expect: late.expect ?? 0 })).toBeNull();
});

test("an edit of the schedule puts its own state in the place of the old one's", async () => {
  const jobs = jobStore(store.cells);
  const job = jobOf();
  const added = await jobs.add(job);
  if (!added.ok) throw new Error(added.reason);
  const write = jobs.writing(added.kept, looked(job, startMs + dayMs));
  await store.cells.put(write.key, write.value ?? "", {});
  const next = edited(job, { schedule: { kind: "every", every: "1h" } }, startMs + 2 * dayMs);
  await jobs.update(1, next);
  expect((await jobs.get("brief"))?.job).toEqual(next);
});

test("a paused job fires nothing until it is resumed, and then nothing of before", async () => {
  const jobs = jobStore(store.cells);
  await jobs.add(jobOf());
  const paused = await jobs.pause("brief", "the chat is blocked", startMs);
  if (!paused.ok) throw new Error(paused.reason);
  expect(dueSlots(paused.kept.job, startMs, startMs + 3 * dayMs)).toMatchObject({ fire: [], wakeAtMs: null });
  const resumed = await jobs.update(1, edited(paused.kept.job, { enabled: true }, startMs + 3 * dayMs));
  if (!resumed.ok) throw new Error(resumed.reason);
  const due = dueSlots(resumed.kept.job, resumed.kept.job.state.decidedMs, startMs + 4 * dayMs);
  expect(due.fire.map(({ instantMs }) => instantMs)).toEqual([startMs + 4 * dayMs]);
});

test("a job that a chat's end paused waits for that chat, and resumed it begins from then; one that runs is left as it is", async () => {
  const jobs = jobStore(store.cells);
  const job = jobOf();
  await jobs.add(job);
  expect(await jobs.resume("brief", startMs + dayMs)).toMatchObject({ kept: { job } });
  const until = { channel: "telegram", account: "default", kind: "dm", peer: "7" } as never;
  expect(await jobs.pause("brief", "x".repeat(2_000), startMs + 5, until)).toMatchObject({
    kept: {
      job: {
        enabled: true,
        state: { nextMs: null, paused: { reason: "x".repeat(1_000), atMs: startMs + 5, until } },
      },
    },
  });
  const nowMs = startMs + 3 * dayMs;
  const resumed = await jobs.resume("brief", nowMs);
  expect(resumed).toMatchObject({
    kept: {
      job: {
        effectiveFromMs: nowMs,
        state: { decidedMs: nowMs, nextMs: startMs + 4 * dayMs, paused: null },
      },
    },
  });
  await jobs.add({ ...job, id: "off", enabled: false });
  await jobs.pause("off", "blocked", startMs);
  expect(await jobs.resume("off", nowMs)).toMatchObject({
    kept: { job: { state: { nextMs: null, paused: null } } },
  });
  const once = jobOf({ schedule: { kind: "at", at: "10m" } });
  await jobs.add({ ...once, id: "once" });
  await jobs.pause("once", "blocked", startMs);
  expect(await jobs.resume("once", startMs + 3_600_000)).toMatchObject({
    kept: {
      job: {
        effectiveFromMs: once.effectiveFromMs,
        state: { decidedMs: once.state.decidedMs, nextMs: startMs + 600_000, paused: null },
      },
    },
  });
});

test("a job that changed between the reading and the removing is judged anew", async () => {
  const job = jobOf();
  let isBetween = true;
  const jobs = jobStore({
    ...store.cells,
    async get(key) {
      const cell = await store.cells.get(key);
      if (isBetween) {
        isBetween = false;
        await jobs.update(1, edited(job, { name: "Other" }));
      }
      return cell;
    },
  });
  await jobs.add(job);
  expect(await jobs.remove("brief", 1)).toBe(false);
  expect((await jobs.get("brief"))?.job.name).toBe("Other");
  isBetween = true;
  expect(await jobs.remove("brief")).toBe(true);
});

test("a job that changes all the time is neither removed nor edited, and an edit says so", async () => {
  const job = jobOf();
  let [nth, reads] = [0, 0];
  const others = jobStore(store.cells);
  const jobs = jobStore({
    ...store.cells,
    async get(key) {
      const cell = await store.cells.get(key);
      reads += 1;
      await others.pause("brief", `pause ${(nth += 1)}`, nth);
      return cell;
    },
  });
  await others.add(job);
  expect([await jobs.remove("brief"), reads]).toEqual([false, 10]);
  expect(await jobs.update(1, edited(job, { name: "Other" }))).toEqual({
    ok: false,
    refusal: "changed",
    reason: "the job brief changes all the time; try again",
  });
  expect([reads, (await others.get("brief"))?.job.name]).toEqual([20, job.name]);
});

const paused = { reason: "x", atMs: 1 };
const watch = { kind: "watch", path: "/w/a", debounceMs: 1_000 } as const;
const spread = { staggerMs: 300_000 };
test.each<[string, Partial<Job>, Partial<Job["state"]>, number | null]>([
  ["with a next instant", {}, {}, 0],
  ["that is spread", spread, {}, staggerOf({ id: "brief", ...spread })],
  ["that is switched off", { enabled: false }, {}, null],
  ["that is paused", {}, { paused }, null],
  ["without a next instant", {}, { nextMs: null }, null],
])("a job %s is looked at then", (_what, more, state, laterMs) => {
  const job = jobOf();
  const { nextMs } = job.state;
  const value = JSON.stringify({ ...job, ...more, state: { ...job.state, ...state } });
  expect(wakeOf({ value })).toEqual({ id: "brief", atMs: laterMs === null ? null : (nextMs ?? 0) + laterMs });
});

test.each<[boolean, typeof paused | null, number | null]>([
  [true, null, 0],
  [false, null, null],
  [true, paused, null],
])("a watch that is on: %j, paused: %j, is looked at by what changes", (enabled, why, atMs) => {
  const job = jobOf();
  const value = JSON.stringify({ ...job, enabled, schedule: watch, state: { ...job.state, paused: why } });
  expect(wakeOf({ value })).toEqual({ id: "brief", atMs });
});

test("a cell of a form that is not known is left alone and named", async () => {
  await store.cells.put("job:later", JSON.stringify({ v: 2 }), {});
  const jobs = jobStore(store.cells);
  expect(await jobs.list()).toEqual({ jobs: [], unreadable: ["later"] });
  expect(await jobs.get("later")).toBeNull();
  expect(await jobs.remove("later")).toBe(false);
});

test("the number of jobs has an end", async () => {
  const full = Array.from({ length: 10_000 }, (_, n) => ({
    key: `job:${n}`,
    value: "{}",
    version: 1,
    expiresAtMs: null,
  }));
  const jobs = jobStore({ ...store.cells, list: (_, limit) => Promise.resolve(full.slice(0, limit)) });
  expect(await jobs.add(jobOf())).toMatchObject({ ok: false, refusal: "full" });
});
