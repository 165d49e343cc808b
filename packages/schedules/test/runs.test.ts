// Shows which slots may run when they are taken up, and how errors hold a job back, are told and pause it.
import { expect, test } from "vitest";
import {
  afterLook,
  afterRun,
  dueSlots,
  editedJob,
  mayRun,
  missedBeside,
  slotId,
  type Job,
} from "../src/index.ts";
import { context, jobOf, startMs } from "./jobs.ts";

const idle = { running: 0, waiting: 0 };
const busy = { running: 1, waiting: 0 };
const slot = { id: "cron:brief:x", instantMs: startMs, version: 1 };

test("a slot of an older version, or of a job that is gone, does not run, and says why", () => {
  const job = jobOf();
  expect(mayRun(job, slot, idle)).toEqual({ run: "now" });
  const decision = editedJob(job, { name: "Other" }, context);
  const state = { ...job.state, paused: { reason: "blocked", atMs: startMs } };
  const changed = [decision.ok ? decision.job : null, { ...job, enabled: false }, { ...job, state }, null];
  const reasons = changed.map((now) => {
    const end = mayRun(now, slot, idle);
    return end.run === "never" && end.outcome === "superseded" ? end.reason : "ran";
  });
  expect(reasons).toEqual([
    "the job was edited: this is version 1, now it is 2",
    "the job is switched off",
    "the job is paused: blocked",
    "the job was removed",
  ]);
});

test.for([
  ["skip", "never"],
  ["queue", "later"],
  ["replace", "instead"],
] as const)("while a run goes on, the policy %s says %s", ([overlap, run]) => {
  expect(mayRun(jobOf({ overlap }), slot, busy).run).toBe(run);
  expect(mayRun(jobOf({ overlap }), slot, idle).run).toBe("now");
});

test("a queue of runs has an end", () => {
  expect(mayRun(jobOf({ overlap: "queue" }), slot, { running: 1, waiting: 99 }).run).toBe("later");
  expect(mayRun(jobOf({ overlap: "queue" }), slot, { running: 1, waiting: 100 }).run).toBe("never");
});

test("errors back off, are told after two, again after an hour, and pause after ten", () => {
  let job: Job = jobOf();
  let endedAtMs = startMs;
  const seen: (readonly [number, string | null])[] = [];
  for (let run = 0; run < 10; run += 1) {
    const after = afterRun(job, { slot, outcome: "failed", reason: "no model", endedAtMs });
    seen.push([after.job.state.backoffMs / 1_000, after.tell]);
    job = after.job;
    endedAtMs += 20 * 60_000;
  }
  expect(seen).toEqual([
    [30, null],
    [60, "failing"],
    [300, null],
    [900, null],
    [3_600, "failing"],
    [3_600, null],
    [3_600, null],
    [3_600, "failing"],
    [3_600, null],
    [3_600, "paused"],
  ]);
  expect(job.state.paused?.reason).toBe("it failed 10 times in a row");
  expect([job.state.alertedAtMs, job.state.paused?.atMs]).toEqual([
    endedAtMs - 1_200_000,
    endedAtMs - 1_200_000,
  ]);
});

test("a good end forgives, and is told to whom errors were told; a skipped run is neither", () => {
  const failed = { slot, outcome: "failed", reason: null, endedAtMs: startMs } as const;
  const once = afterRun(jobOf(), failed).job;
  const skipped = afterRun(once, { ...failed, outcome: "skipped" });
  expect(skipped.job.state).toMatchObject({ consecutiveErrors: 1, backoffMs: 30_000 });
  expect(afterRun(once, { ...failed, outcome: "ok" })).toMatchObject({
    tell: null,
    job: { state: { consecutiveErrors: 0, backoffMs: 0 } },
  });
  expect(afterRun(afterRun(once, failed).job, { ...failed, outcome: "silent" }).tell).toBe("recovered");
});

test("of why a run failed a thousand letters are kept, and of a good run nothing", () => {
  const job = jobOf();
  const end = { slot, endedAtMs: startMs };
  const reasons = ["x".repeat(1_000), "x".repeat(1_001), null].map(
    (reason) => afterRun(job, { ...end, reason, outcome: "failed" }).job.state.last?.reason?.length ?? null,
  );
  expect(reasons).toEqual([1_000, 1_000, null]);
});

test("a one-shot is over after a good run, and stays after a failed one", () => {
  const job = jobOf({ schedule: { kind: "at", at: "10m" } });
  const due = dueSlots(job, job.state.decidedMs, startMs + 600_000);
  const looked = afterLook(job, due, due.fire.length);
  expect(looked.state).toMatchObject({ runs: 1, nextMs: null });
  const end = { slot, reason: null, endedAtMs: startMs + 700_000 };
  expect(afterRun(looked, { ...end, outcome: "ok" }).isOver).toBe(true);
  expect(afterRun(looked, { ...end, outcome: "failed" }).isOver).toBe(false);
  const thrice = jobOf({ maxRuns: 3, deleteAfterRun: true });
  expect(afterRun(thrice, { ...end, outcome: "ok" }).isOver).toBe(false);
});

test.each([
  [2, false],
  [3, true],
])("a job of three runs that ran %i times is over: %j", (runs, isOver) => {
  const job = jobOf({ maxRuns: 3, deleteAfterRun: true });
  const ran = { ...job, state: { ...job.state, runs } };
  expect(afterRun(ran, { slot, reason: null, endedAtMs: startMs, outcome: "ok" }).isOver).toBe(isOver);
});

test("a watch is never over by itself, and what it saw is kept by each look that saw something", () => {
  const schedule = { kind: "watch", path: "/w/a", debounceMs: 1_000 } as const;
  const job: Job = { ...jobOf(), schedule, deleteAfterRun: true };
  expect(afterRun(job, { slot, reason: null, endedAtMs: startMs, outcome: "ok" }).isOver).toBe(false);
  const due = { fire: [], missed: [], decidedMs: startMs, nextMs: null, wakeAtMs: null, isSetBack: false };
  const seen = { generation: 1, digest: "one", atMs: startMs };
  const looked = afterLook(job, { ...due, seen }, 1);
  expect([looked.state.seen, looked.state.runs]).toEqual([seen, 1]);
  expect(afterLook(looked, due, 0).state.seen).toEqual(seen);
});

test("a run that ends before its look has written tells what it stands for as missed, once", () => {
  const job = jobOf({ schedule: { kind: "every", every: "10m" }, maxRuns: 2 });
  const instantMs = startMs + 3_000_000;
  const end = {
    slot: { id: slotId(job.id, instantMs), instantMs },
    reason: null,
    endedAtMs: startMs + 3_100_000,
  };
  const ended = afterRun(job, { ...end, outcome: "ok" });
  expect(ended.missed).toEqual([
    { firstMs: startMs + 600_000, lastMs: startMs + 2_400_000, count: 4, why: "policy" },
  ]);
  expect(ended.job.state).toMatchObject({ decidedMs: instantMs, runs: 1, missed: 4 });
  expect(afterRun(ended.job, { ...end, outcome: "ok" })).toMatchObject({
    missed: [],
    job: { state: { missed: 4 } },
  });
});

test("beside rows of several looks that died, what lies in between is missed", () => {
  const job = jobOf({ schedule: { kind: "every", every: "10m" } });
  const [first, second] = [startMs + 1_800_000, startMs + 3_600_000];
  expect(missedBeside(job, [second, first]).map(({ lastMs, count }) => [lastMs - startMs, count])).toEqual([
    [1_200_000, 2],
    [3_000_000, 2],
  ]);
});
