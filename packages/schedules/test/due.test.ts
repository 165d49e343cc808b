// Shows which slots of a job fire at a look, and that no slot fires twice and none is lost over any sequence
// of looks, crashes, clock jumps and edits.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  afterLook,
  dueSlots,
  editedJob,
  instantsOfSchedule,
  slotId,
  type Due,
  type Job,
} from "../src/index.ts";
import { context, jobOf, startMs } from "./jobs.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const hourly = { schedule: { kind: "cron", expression: "0 * * * *", zone: "UTC" }, staggerMs: 0 };
const look = (job: Job, afterMs: number): Due => dueSlots(job, job.state.decidedMs, startMs + afterMs);
const firedAfter = ({ fire }: Due): readonly number[] => fire.map(({ instantMs }) => instantMs - startMs);

describe("a look", () => {
  test("before the instant says when to look again, and decides nothing to come", () => {
    const due = look(jobOf(hourly), hourMs - 1);
    expect(due).toMatchObject({ fire: [], missed: [], nextMs: startMs + hourMs, wakeAtMs: startMs + hourMs });
  });

  test("at the instant fires a slot named by job and instant, once", () => {
    const job = jobOf(hourly);
    const due = look(job, hourMs);
    const id = "cron:brief:2026-11-23T09:00:00.000Z";
    expect(due.fire).toEqual([
      { id, job: "brief", version: 1, instantMs: startMs + hourMs, atMs: startMs + hourMs },
    ]);
    expect(slotId("brief", startMs + hourMs)).toBe(id);
    expect(look(afterLook(job, due, 1), hourMs).fire).toEqual([]);
    expect(due.wakeAtMs).toBe(startMs + 2 * hourMs);
  });

  test.for([
    ["latest", [5], 4],
    ["all", [1, 2, 3, 4, 5], 0],
    ["none", [], 5],
  ] as const)("five hours late fires by the policy %s", ([misfire, hours, missed]) => {
    const due = look(jobOf({ ...hourly, misfire }), 5 * hourMs + 10 * minuteMs);
    expect(firedAfter(due)).toEqual(hours.map((hour) => hour * hourMs));
    expect(due.missed.reduce((sum, { count }) => sum + count, 0)).toBe(missed);
    expect(due.wakeAtMs).toBe(startMs + 6 * hourMs);
  });

  test("counts a minute late as on time, also where nothing is caught up", () => {
    const job = jobOf({ ...hourly, misfire: "none" });
    expect(firedAfter(look(job, hourMs + minuteMs))).toEqual([hourMs]);
    expect(firedAfter(look(job, hourMs + minuteMs + 1))).toEqual([]);
  });

  test("goes back no further than the catch-up window, and says what is lost", () => {
    const due = look(jobOf({ ...hourly, misfire: "all", catchUpMs: 2 * hourMs }), 5 * hourMs);
    expect(firedAfter(due)).toEqual([3 * hourMs, 4 * hourMs, 5 * hourMs]);
    expect(due.missed).toEqual([
      { firstMs: startMs + hourMs, lastMs: startMs + 2 * hourMs, count: 2, why: "window" },
    ]);
  });

  test("catches up in the job's zone: nine in Berlin stays nine over the change of clocks", () => {
    const before = Date.parse("2026-03-28T12:00:00Z");
    const job = jobOf({ schedule: { kind: "cron", expression: "0 9 * * *" }, misfire: "all" }, before);
    const due = dueSlots(job, before, before + 2 * dayMs);
    expect(due.fire.map(({ id }) => id)).toEqual([
      "cron:brief:2026-03-29T07:00:00.000Z",
      "cron:brief:2026-03-30T07:00:00.000Z",
    ]);
  });

  test("fires after the stagger, under the name of the instant", () => {
    const job = jobOf({ ...hourly, staggerMs: 600_000 });
    const [slot] = look(job, 2 * hourMs - 1).fire;
    const late = (slot?.atMs ?? 0) - (slot?.instantMs ?? 0);
    expect(late).toBeGreaterThan(0);
    expect(slot?.instantMs).toBe(startMs + hourMs);
    expect(slot?.id).toBe(slotId("brief", startMs + hourMs));
    expect(look(job, hourMs + late - 1)).toMatchObject({ fire: [], wakeAtMs: startMs + hourMs + late });
    expect(firedAfter(look(job, hourMs + late))).toEqual([hourMs]);
  });

  test("ends a one-shot, and a job of so many runs", () => {
    const once = jobOf({ schedule: { kind: "at", at: "10m" } });
    const due = look(once, 3 * hourMs);
    expect(firedAfter(due)).toEqual([10 * minuteMs]);
    expect(due.wakeAtMs).toBeNull();
    const twice = jobOf({ ...hourly, misfire: "all", maxRuns: 2 });
    expect(firedAfter(look(twice, 5 * hourMs))).toEqual([hourMs, 2 * hourMs]);
    expect(look(twice, 5 * hourMs).wakeAtMs).toBeNull();
    const spent = afterLook(twice, look(twice, 5 * hourMs), 2);
    for (const policy of ["all", "latest"] as const)
      expect(look({ ...spent, misfire: policy }, 9 * hourMs)).toMatchObject({
        fire: [],
        missed: [],
        wakeAtMs: null,
      });
  });

  test("leaves a job alone that is switched off or paused", () => {
    const job = jobOf(hourly);
    const paused = { ...job, state: { ...job.state, paused: { reason: "blocked", atMs: startMs } } };
    for (const off of [{ ...job, enabled: false }, paused])
      expect(look(off, 5 * hourMs)).toMatchObject({ fire: [], missed: [], wakeAtMs: null });
  });

  test("waits for the end of a back-off, but not behind a clock that was ahead", () => {
    const job = jobOf(hourly);
    const last = { slot: "cron:brief:x", instantMs: startMs, outcome: "failed" as const, reason: "no" };
    const failing = (endedAtMs: number): Job => ({
      ...job,
      state: { ...job.state, backoffMs: 90 * minuteMs, last: { ...last, endedAtMs } },
    });
    const held = look(failing(startMs), hourMs);
    expect(held).toMatchObject({ fire: [], wakeAtMs: startMs + 90 * minuteMs });
    expect(firedAfter(look(failing(startMs), 90 * minuteMs))).toEqual([hourMs]);
    expect(firedAfter(look(failing(startMs + 300 * dayMs), hourMs))).toEqual([hourMs]);
  });

  test("takes long backlogs in pieces and loses nothing between them", () => {
    const job = jobOf({
      schedule: { kind: "every", every: "1m", anchorMs: startMs },
      misfire: "all",
      catchUpMs: 12 * hourMs,
    });
    const first = look(job, 3 * hourMs);
    const second = look(afterLook(job, first, 100), 3 * hourMs);
    expect([first.fire.length, second.fire.length]).toEqual([100, 80]);
    expect(first.wakeAtMs).toBe(startMs + 3 * hourMs);
    expect([...firedAfter(first), ...firedAfter(second)]).toEqual(
      Array.from({ length: 180 }, (_, n) => (n + 1) * minuteMs),
    );
  });
});

describe("a clock that jumps", () => {
  test("ahead by a year and back: the job goes on at its next instant", () => {
    const job = jobOf(hourly);
    const ahead = afterLook(job, look(job, 365 * dayMs), 1);
    const back = look(ahead, 30 * minuteMs);
    expect(back).toMatchObject({ fire: [], isSetBack: true, wakeAtMs: startMs + hourMs });
    expect(firedAfter(look(afterLook(ahead, back, 0), hourMs))).toEqual([hourMs]);
  });

  test("is told only where the last look was after now", () => {
    const job = jobOf();
    const told = [startMs - 1, startMs, startMs + 1].map(
      (decidedMs) => dueSlots(job, decidedMs, startMs).isSetBack,
    );
    expect(told).toEqual([false, false, true]);
  });

  test("back by seconds: what comes again has the id that the store knows", () => {
    const job = jobOf(hourly);
    const first = look(job, hourMs);
    const back = look(afterLook(job, first, 1), hourMs - 2_000);
    expect(back.fire).toEqual([]);
    expect(look(afterLook(job, back, 0), hourMs).fire.map(({ id }) => id)).toEqual(
      first.fire.map(({ id }) => id),
    );
  });
});

test("an edit of the schedule begins from its own time, another edit loses nothing", () => {
  const job = jobOf({ ...hourly, misfire: "all" });
  const nowMs = startMs + 3 * hourMs + 30 * minuteMs;
  const half = editedJob(
    job,
    { schedule: { kind: "cron", expression: "45 * * * *", zone: "UTC" } },
    { ...context, nowMs },
  );
  const renamed = editedJob(job, { name: "Other" }, { ...context, nowMs });
  if (!half.ok || !renamed.ok) throw new Error("refused");
  expect(firedAfter(dueSlots(half.job, job.state.decidedMs, nowMs + 30 * minuteMs))).toEqual([3.75 * hourMs]);
  expect(half.job.version).toBe(2);
  expect(look(renamed.job, 3 * hourMs).fire.map(({ version }) => version)).toEqual([2, 2, 2]);
});

type Act =
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "jump"; readonly ms: number }
  | { readonly kind: "crash"; readonly when: "before rows" | "before state" }
  | { readonly kind: "edit"; readonly expression: string };

const acts = (jumps: boolean): fc.Arbitrary<readonly Act[]> =>
  fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant("wait" as const),
          ms: fc.integer({ min: 0, max: 9 * hourMs }),
        }),
      },
      {
        weight: jumps ? 2 : 0,
        arbitrary: fc.record({
          kind: fc.constant("jump" as const),
          ms: fc.integer({ min: -60 * dayMs, max: 60 * dayMs }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant("crash" as const),
          when: fc.constantFrom("before rows" as const, "before state" as const),
        }),
      },
      {
        weight: jumps ? 1 : 0,
        arbitrary: fc.record({
          kind: fc.constant("edit" as const),
          expression: fc.constantFrom("30 * * * *", "*/20 * * * *", "0 */3 * * *", "15 2 * * *"),
        }),
      },
    ),
    { minLength: 1, maxLength: 12 },
  );

interface Run {
  /** In the order of the store's acceptance. */
  readonly accepted: readonly {
    readonly id: string;
    readonly instantMs: number;
    readonly atLookMs: number;
  }[];
  /** Slots that a look named although one with stored state had named them, without a clock set back. */
  readonly repeated: readonly string[];
  readonly job: Job;
  readonly nowMs: number;
}

/** One holder that looks after every act; the store takes an id once. */
function lived(made: Job, steps: readonly Act[]): Run {
  let job = made;
  let nowMs = startMs;
  const rows = new Set<string>();
  const accepted: Run["accepted"][number][] = [];
  const repeated: string[] = [];
  let named = new Set<string>();
  for (const act of [...steps, { kind: "wait", ms: 0 } as const]) {
    if (act.kind === "wait" || act.kind === "jump") nowMs += act.ms;
    if (act.kind === "edit") {
      const schedule = { kind: "cron", expression: act.expression, zone: "Europe/Berlin" };
      const edited = editedJob(job, { schedule }, { ...context, nowMs });
      if (!edited.ok) throw new Error("refused");
      job = edited.job;
    }
    const due = dueSlots(job, job.state.decidedMs, nowMs);
    if (due.isSetBack) named = new Set();
    if (act.kind === "crash" && act.when === "before rows") continue;
    const fresh = due.fire.filter(({ id }) => !rows.has(id));
    for (const { id, instantMs } of fresh) {
      rows.add(id);
      accepted.push({ id, instantMs, atLookMs: nowMs });
    }
    if (act.kind === "crash") continue;
    repeated.push(...due.fire.flatMap(({ id }) => (named.has(id) ? [id] : [])));
    for (const { id } of due.fire) named.add(id);
    job = afterLook(job, due, fresh.length);
  }
  return { accepted, repeated, job, nowMs };
}

describe("over any life", () => {
  const misfire = fc.constantFrom("latest", "all", "none");
  const staggerMs = fc.constantFrom(0, 300_000, 3_600_000);

  test("no instant has two rows, none fires early, and no look names a decided one again", () =>
    fc.assert(
      fc.property(acts(true), misfire, staggerMs, (steps, policy, stagger) => {
        const { accepted, repeated } = lived(
          jobOf({ ...hourly, misfire: policy, staggerMs: stagger }),
          steps,
        );
        expect(new Set(accepted.map(({ instantMs }) => instantMs)).size).toBe(accepted.length);
        expect(repeated).toEqual([]);
        for (const { instantMs, atLookMs } of accepted) expect(instantMs).toBeLessThanOrEqual(atLookMs);
      }),
      { numRuns: 30 },
    ));

  test("with the policy all, every instant within the window fires, over crashes too", () =>
    fc.assert(
      fc.property(acts(false), (steps) => {
        const made = jobOf({ ...hourly, misfire: "all" });
        const { accepted, job, nowMs } = lived(made, steps);
        const { next } = instantsOfSchedule(made.schedule);
        const expected: number[] = [];
        for (let at = next(startMs); at !== null && at <= nowMs; at = next(at)) expected.push(at);
        const fired = accepted.map(({ instantMs }) => instantMs);
        const open = dueSlots(job, job.state.decidedMs, nowMs).fire.map(({ instantMs }) => instantMs);
        const missed = job.state.missed;
        expect(fired.length + missed).toBe(expected.length);
        expect(open).toEqual([]);
        if (nowMs - startMs <= made.catchUpMs) expect(fired).toEqual(expected);
      }),
      { numRuns: 15 },
    ));

  test("with the policy latest, fired and missed are all instants there were", () =>
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 30 * hourMs }), { minLength: 1, maxLength: 10 }),
        fc.constantFrom("latest", "none"),
        (waits, policy) => {
          const made = jobOf({ ...hourly, misfire: policy });
          const steps = waits.map((ms) => ({ kind: "wait" as const, ms }));
          const { accepted, job, nowMs } = lived(made, steps);
          const count = Math.floor((nowMs - startMs) / hourMs);
          expect(accepted.length + job.state.missed).toBe(count);
        },
      ),
      { numRuns: 30 },
    ));
});
