// Plants bugs in the calculation of schedules, one at a time: the suite named with each must fail. Minutes
// long, so it runs with PARLEY_LONG=1.
import { fileURLToPath } from "node:url";
import { plantedBugs, type PlantedBug } from "@parley/testkit";
import { afterAll, expect, test } from "vitest";

const mutants: readonly PlantedBug[] = [
  ["skipped lists are lost", "instants", "expression.ts", '"no-wildcard"', '"single-value"'],
  [
    "a second comes twice backwards",
    "instants",
    "expression.ts",
    "Math.ceil(beforeMs / 1_000)",
    "Math.ceil(beforeMs / 1_000 + 1)",
  ],
  ["the zone is forgotten", "instants", "expression.ts", "timezone: zone", 'timezone: "UTC"'],
  ["zones share a cache", "instants", "expression.ts", "`${expression}\\n${zone}`", "`${expression}`"],
  ["a span begins before its anchor", "instants", "instants.ts", "Math.max(0, Math", "Math.max(-99, Math"],
  [
    "a clock set back stalls the job",
    "due",
    "due.ts",
    "Math.min(Math.max(decidedMs, job.effectiveFromMs), nowMs)",
    "Math.max(decidedMs, job.effectiveFromMs)",
  ],
  [
    "another schedule catches up with the old one's time",
    "due",
    "due.ts",
    "Math.max(decidedMs, job.effectiveFromMs)",
    "decidedMs",
  ],
  ["the rest of a backlog is lost", "due", "due.ts", "isCut ? (fired.at(-1) ?? until) : until", "until"],
  ["the window is one short", "due", "due.ts", "until - reachMs - 1", "until - reachMs"],
  ["the stagger does not wait", "due", "due.ts", "const until = nowMs - stagger", "const until = nowMs"],
  [
    "the stagger names the slot",
    "due",
    "due.ts",
    "slotId(job.id, instantMs)",
    "slotId(job.id, instantMs + stagger)",
  ],
  ["an instant is decided too early", "due", "due.ts", "at <= until && found", "at < until && found"],
  ["a job of so many runs goes on", "due", "due.ts", "left <= 0", "left < -1"],
  ["a paused job fires", "due", "due.ts", "|| job.state.paused !== null", ""],
  [
    "a back-off outlives a clock that was ahead",
    "due",
    "due.ts",
    "endedAtMs === undefined || nowMs < endedAtMs",
    "endedAtMs === undefined",
  ],
  ["what is missed is not counted", "due", "job-state.ts", "nextMs, missed, runs", "nextMs, runs"],
  ["of two equal times the second counts", "written-job", "zones.ts", "a - b", "b - a"],
  ["a skipped time is taken", "written-job", "zones.ts", "localAt(at, zone) === local", "at > 0"],
  ["offsets are zones", "written-job", "zones.ts", "/^[+-]?\\d/.test(text)", "false"],
  [
    "what never comes is taken",
    "written-job",
    "written-schedule.ts",
    ".next(context.nowMs) === null",
    ".next(0) === undefined",
  ],
  ["a past instant is taken", "written-job", "written-schedule.ts", "atMs <= nowMs", "atMs < nowMs"],
  [
    "main takes a turn",
    "written-job",
    "written-job.ts",
    'target.kind === "main" && payload',
    "false && payload",
  ],
  ["an old version runs", "runs", "may-run.ts", "slot.version !== job.version", "slot.version > job.version"],
  [
    "skipped runs forgive errors",
    "runs",
    "job-state.ts",
    'if (outcome !== "failed") return',
    "if (false) return",
  ],
  [
    "an edit undoes a look",
    "job-store",
    "job-store.ts",
    "isBegun ? next : { ...next, state: job.state }",
    "next",
  ],
  ["the second edit wins", "job-store", "job-store.ts", "if (job.version !== from) return null;", ""],
];

const planted = plantedBugs(fileURLToPath(new URL("..", import.meta.url)), process.env);
afterAll(planted.close);

/** A suite that hangs over its bug ends by its own limits. */
const mostMs = 300_000;

test.each([...new Set(mutants.map(([, suite]) => suite))])(
  "%s finds nothing where no bug is planted",
  async (suite) => {
    expect(await planted.passes(suite)).toBe(true);
  },
  mostMs,
);

test.each(mutants)(
  "%s: noticed by %s",
  async (...bug) => {
    expect(await planted.isNoticed(bug)).toBe(true);
  },
  mostMs,
);
