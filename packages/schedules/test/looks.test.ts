// Whole answers of looks and of ends of runs: what fires, what is missed and why, what the job's state says
// afterwards and when it is looked at again, on both sides of each limit. Times count from the beginning.
// A wanted change: `vitest run --project @parley/schedules looks -u`.
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { afterLook, afterRun, dueSlots, mayRun, slotId, type Job } from "../src/index.ts";
import { resumedJob } from "../src/job-state.ts";
import { jobOf, startMs } from "./jobs.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const hourly = { schedule: { kind: "cron", expression: "0 * * * *", zone: "UTC" }, staggerMs: 0 };
const each = {
  schedule: { kind: "every", every: "1m", anchorMs: startMs },
  misfire: "all",
  catchUpMs: 2 * hour,
};

/** As `+1d 2:03:04`. */
function relative(value: unknown): unknown {
  if (typeof value === "number" && Math.abs(value - startMs) < 800 * day) {
    const ms = Math.abs(value - startMs);
    const days = Math.floor(ms / day);
    const time = new Date(ms % day)
      .toISOString()
      .slice(11)
      .replace(/(?:\.000)?Z$/, "");
    return `${value < startMs ? "-" : "+"}${days === 0 ? "" : `${days}d `}${time}`;
  }
  if (Array.isArray(value))
    return value.length > 4 ? [relative(value[0]), `and ${value.length - 1} more`] : value.map(relative);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, relative(inner)]));
}

test("what a look finds, and when the next one is", async () => {
  const last = { slot: "s", instantMs: startMs, outcome: "failed", reason: "no" } as const;
  const failed = (backoffMs: number, endedAtMs: number) => ({ backoffMs, last: { ...last, endedAtMs } });
  const looks: readonly (readonly [string, object, Partial<Job["state"]>, number])[] = [
    ["a moment before the instant", hourly, {}, hour - 1],
    ["at the instant", hourly, {}, hour],
    ["a minute late, where nothing is caught up", { ...hourly, misfire: "none" }, {}, 2 * hour + minute],
    ["a moment later", { ...hourly, misfire: "none" }, {}, 2 * hour + minute + 1],
    ["at the edge of what is caught up", { ...hourly, catchUpMs: 2 * hour, misfire: "all" }, {}, 4 * hour],
    ["a moment behind it", { ...hourly, catchUpMs: 2 * hour, misfire: "all" }, {}, 4 * hour + 1],
    ["the latest alone", { ...hourly, catchUpMs: 2 * hour }, {}, 5 * hour + 1],
    ["99 that were missed", { ...hourly, catchUpMs: minute }, {}, 100 * hour],
    ["100 that were missed", { ...hourly, catchUpMs: minute }, {}, 101 * hour],
    ["more than are counted", { ...hourly, catchUpMs: minute }, {}, 103 * hour],
    ["99 at once", each, {}, 99 * minute],
    ["100 at once", each, {}, 100 * minute],
    ["more than one look fires", each, {}, 101 * minute],
    ["more than there are runs left", { ...each, maxRuns: 7 }, { runs: 5 }, 9 * minute],
    ["with its last run", { ...hourly, maxRuns: 3 }, { runs: 2 }, hour],
    ["with no run left", { ...hourly, maxRuns: 3 }, { runs: 3 }, hour],
    ["in a wait after an error", hourly, failed(hour, startMs + 30 * minute), hour + 30 * minute - 1],
    ["at its end", hourly, failed(hour, startMs + 30 * minute), hour + 30 * minute],
    ["in the moment in which the run ended", hourly, failed(hour, startMs + hour), hour],
    ["with a clock before that", hourly, failed(hour, startMs + hour + 1), hour],
    ["spread, before its time", { ...hourly, staggerMs: 300 * second }, {}, hour],
    [
      "spread, at the end of what that may be",
      { ...hourly, staggerMs: 300 * second },
      {},
      hour + 300 * second,
    ],
    ["one instant, late", { schedule: { kind: "at", at: "10m" } }, {}, 3 * hour],
    ["one instant, too late", { schedule: { kind: "at", at: "10m" }, catchUpMs: hour }, {}, 3 * hour],
    ["decided already", hourly, { decidedMs: startMs + hour }, hour],
    ["decided by a clock ahead", hourly, { decidedMs: startMs + 5 * hour }, 2 * hour + 1],
  ];
  const table = answerTable(
    looks.map(([what]) => what),
    (what) => {
      const [, change, state, afterMs] = looks.find(([name]) => name === what) ?? ["", {}, {}, 0];
      const made = jobOf(change);
      const job: Job = { ...made, state: { ...made.state, ...state } };
      const due = dueSlots(job, job.state.decidedMs, startMs + afterMs);
      const { runs, missed, decidedMs, nextMs } = afterLook(job, due, due.fire.length).state;
      return relative({ due, after: { runs, missed, decidedMs, nextMs } });
    },
  );
  await expect(table).toMatchFileSnapshot("tables/looks.txt");
});

test("what the end of a run leaves of a job, and what is told", async () => {
  const state = jobOf(hourly).state;
  const failing = (consecutiveErrors: number, alertedAtMs: number | null): Partial<Job["state"]> => {
    return { consecutiveErrors, backoffMs: 900_000, alertedAtMs };
  };
  const ends: readonly (readonly [string, object, Partial<Job["state"]>, string, string | null])[] = [
    ["a good one", hourly, {}, "ok", "said it"],
    ["a silent one after errors that were told", hourly, failing(3, startMs), "silent", null],
    ["a good one after an error that was not", hourly, failing(1, null), "ok", null],
    ["a first error", hourly, {}, "failed", "no model"],
    ["a second error", hourly, failing(1, null), "failed", "no model"],
    ["a third one within the hour", hourly, failing(2, startMs + hour + 6), "failed", "no model"],
    ["a third one after an hour", hourly, failing(2, startMs + hour + 5), "failed", "no model"],
    ["a fifth one", hourly, failing(4, startMs + 2 * hour), "failed", null],
    ["a ninth one", hourly, failing(8, startMs + 2 * hour), "failed", null],
    ["a tenth one", hourly, failing(9, startMs + 2 * hour), "failed", null],
    ["one that was skipped", hourly, failing(4, startMs), "skipped", "another one ran"],
    ["one that was missed", hourly, failing(4, startMs), "missed", null],
    [
      "one that was replaced",
      { ...hourly, deleteAfterRun: true, maxRuns: 1 },
      { runs: 1 },
      "superseded",
      null,
    ],
    ["the last of a job that goes then", { ...hourly, deleteAfterRun: true, maxRuns: 1 }, {}, "ok", null],
    ["the last of one that stays", { ...hourly, maxRuns: 1 }, {}, "ok", null],
    ["of one instant", { schedule: { kind: "at", at: "2h" } }, {}, "ok", null],
    ["of one instant, in vain", { schedule: { kind: "at", at: "2h" } }, {}, "failed", null],
  ];
  const table = answerTable(
    ends.map(([what]) => what),
    (what) => {
      const [, change, more, outcome, reason] = ends.find(([name]) => name === what) ?? [
        "",
        {},
        {},
        "ok",
        null,
      ];
      const made = jobOf(change);
      const job: Job = { ...made, state: { ...state, nextMs: made.state.nextMs, ...more } };
      const instantMs = startMs + 2 * hour;
      const end = { slot: { id: slotId(job.id, instantMs), instantMs }, endedAtMs: instantMs + 5 };
      const { job: after, ...told } = afterRun(job, { ...end, outcome: outcome as "ok", reason });
      expect({ ...after, state: job.state }).toEqual(job);
      return relative({ ...told, state: after.state });
    },
  );
  await expect(table).toMatchFileSnapshot("tables/run-ends.txt");
});

test("what becomes of a slot beside other runs, and of a job whose pause ends", async () => {
  const runs = [0, 1].flatMap((running) =>
    [0, 99, 100].flatMap((waiting) =>
      (["skip", "queue", "replace"] as const).map((overlap) => ({ overlap, running, waiting })),
    ),
  );
  const job = jobOf(hourly);
  const paused = { reason: "blocked", atMs: startMs };
  const pausedJobs: { readonly [what: string]: Job } = {
    hourly: job,
    off: { ...job, enabled: false },
    once: jobOf({ schedule: { kind: "at", at: "10m" } }),
  };
  const table = [
    answerTable(runs, ({ overlap, ...others }) => mayRun({ ...job, overlap }, { version: 1 }, others)),
    answerTable(Object.keys(pausedJobs), (what) => {
      const before = pausedJobs[what] ?? job;
      const state = { ...before.state, nextMs: null, paused, runs: 3, missed: 2, consecutiveErrors: 1 };
      const after = resumedJob({ ...before, state }, startMs + 90 * minute);
      return relative({ effectiveFromMs: after.effectiveFromMs, state: after.state });
    }),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("tables/slots.txt");
});
