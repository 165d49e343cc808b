// Slots under chance: several nodes look at the same jobs, each with a clock that is a little off; looks die
// before or after any of their writes, time jumps by days and back, and jobs are edited meanwhile. Laws are
// judged over the rows that the store keeps and what ran. Everything follows from the seed.
import { silentLog } from "@parley/protocol";
import { runLog, sessionOfRuns, slotOf } from "@parley/runner";
import {
  afterRun,
  editedJob,
  instantsOfSchedule,
  jobStore,
  mayRun,
  newJob,
  nextInstants,
  staggerOf,
  type Job,
} from "@parley/schedules";
import { sqliteStore, type SqliteStore } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { fireJob, type FireJob } from "../../src/schedules/fire-job.ts";
import { slotCounts } from "../../src/schedules/slot-counts.ts";
import { watchSlots } from "../../src/schedules/watch-slots.ts";
import { draws, weighted, type Draw } from "./chance.ts";

/** A driver that breaks one promise. */
export type BrokenStore = (store: SqliteStore) => SqliteStore;

class Death extends Error {}

interface Ran {
  readonly job: string;
  readonly instantMs: number;
  /** Of the row, and of the job when the run began. */
  readonly version: number;
  readonly jobVersion: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const steps = 30;
const nodes = 3;
const startMs = Date.parse("2027-03-27T12:00:00Z");
const owner = {
  kind: "operator",
  sender: null,
  isOwner: true,
  conversation: null,
  session: null,
  turn: null,
  authority: "owner",
  tools: null,
} as const;
const schedules = [
  { kind: "every", every: "50m" },
  { kind: "cron", expression: "30 2,3 * * *", zone: "Europe/Berlin" },
  { kind: "cron", expression: "0 * * * *", zone: "Australia/Lord_Howe" },
] as const;

/** Runs one seed and returns what it broke: empty for a product that keeps its promises. */
export async function simulateSlots(
  seed: number,
  broken: BrokenStore = (store) => store,
): Promise<readonly string[]> {
  const draw = draws(seed);
  const clock = virtualClock({ settle: async () => {} });
  let nowMs = startMs;
  const onFatal = (error: unknown): never => {
    throw error;
  };
  const store = await sqliteStore({
    path: ":memory:",
    clock: { ...clock, now: () => nowMs },
    log: silentLog,
    bootId: "sim",
    onFatal,
  });
  const jobs = jobStore(store.cells);
  const ran: Ran[] = [];
  const violations = new Set<string>();
  /** Jobs that were edited, or whose time went back: their slots are not counted up. */
  const uncounted = new Set<string>();

  /** The version that the last edit made. */
  const edited = new Map<string, number>();

  try {
    const ids: string[] = [];
    for (const [nth, schedule] of schedules.entries()) {
      const misfire = weighted(draw(`misfire ${nth}`), [
        [2, "latest"],
        [1, "all"],
        [1, "none"],
      ] as const);
      const written = {
        name: `job ${nth}`,
        schedule,
        payload: { kind: "agentTurn", message: "v1" },
        misfire,
        overlap: "queue",
        ...(misfire === "all" ? { catchUpMs: 12 * hourMs } : {}),
      };
      const made = newJob(written, { nowMs, zone: "UTC", id: `job-${nth}`, agent: "main", owner });
      if (!made.ok) throw new Error(JSON.stringify(made.problems));
      await jobs.add(made.job);
      ids.push(made.job.id);
    }
    for (let step = 0; step < steps; step += 1) {
      const jump = weighted(draw(`jump ${step}`), [
        [20, 20 * minuteMs],
        [10, 100 * minuteMs],
        [4, 9 * hourMs],
        [2, 35 * hourMs],
        [1, -2 * hourMs],
      ] as const);
      if (jump < 0) for (const id of ids) uncounted.add(id);
      nowMs += Math.floor(jump * (0.5 + draw(`far ${step}`)));
      await Promise.all([
        ...Array.from({ length: nodes }, (_, node) => lookOf(node, step, ids)),
        edit(step, ids),
      ]);
      await work(step, ids);
    }
    // What died is looked at once more by a process that lives.
    for (const id of ids) await look(broken(store), 0)(id);
    for (let left = 0; left < 5; left += 1) await work(steps + left, ids);
    await judge(ids);
    return [...violations];
  } finally {
    await store.close();
  }

  function look(through: SqliteStore, skewMs: number): FireJob {
    const own = { ...clock, now: () => nowMs + skewMs };
    return fireJob({
      schedules: {
        jobs: jobStore(through.cells),
        log: runLog(through.cells, { retentionMs: 1e9, keepLines: 1_000 }),
        rightsNow: async () => ({ owner: true, authority: "owner" }),
      },
      store: through,
      agents: ["main"],
      running: { stop: () => false },
      reach: async () => null,
      closedAt: async () => null,
      ownersAt: async () => [],
      keeping: () => null,
      sessionRetentionMs: 24 * hourMs,
      counts: slotCounts(),
      watches: watchSlots(async () => "", own),
      clock: own,
      log: silentLog,
    });
  }

  /** One node looks at some jobs, its writes interleaved with those of others; it may die at one of them. */
  async function lookOf(node: number, step: number, ids: readonly string[]): Promise<void> {
    const name = `${node} ${step}`;
    if (draw(`away ${name}`) < 0.3) return;
    const skewMs = Math.floor((draw(`skew ${node}`) - 0.5) * 4_000);
    const dies = draw(`dies ${name}`) < 0.25 ? 1 + Math.floor(draw(`at ${name}`) * 12) : Infinity;
    const fire = look(mortal(broken(store), draw, name, dies), skewMs);
    for (const id of ids) {
      try {
        await fire(id);
      } catch (error) {
        if (!(error instanceof Death)) throw error;
        return;
      }
    }
  }

  async function edit(step: number, ids: readonly string[]): Promise<void> {
    if (draw(`edit ${step}`) > 0.06) return;
    const id = ids[Math.floor(draw(`which ${step}`) * ids.length)] ?? "";
    const kept = await jobs.get(id);
    if (kept === null) return;
    const asked = weighted<object>(draw(`what ${step}`), [
      [1, { payload: { kind: "agentTurn", message: `v${kept.job.version + 1}` } }],
      [1, { schedule: { kind: "every", every: "20m" } }],
    ]);
    const decided = editedJob(kept.job, asked, { nowMs, zone: "UTC" });
    if (!decided.ok) throw new Error(JSON.stringify(decided.problems));
    if (!(await jobs.update(kept.job.version, decided.job)).ok) return;
    uncounted.add(id);
    edited.set(id, decided.job.version);
  }

  /** Ends the waiting runs of each job, as a turn does: by the job as it is read then. */
  async function work(step: number, ids: readonly string[]): Promise<void> {
    const cells = broken(store).cells;
    for (const id of ids) {
      const truth = await jobs.get(id);
      if (truth === null || draw(`idle ${step} ${id}`) < 0.4) continue;
      const rows = await store.inbox.find({ lane: sessionOfRuns(truth.job), state: "waiting", limit: 100 });
      for (const row of rows.toReversed()) {
        const slot = slotOf(row);
        const kept = await jobStore(cells).get(id);
        const ruling = mayRun(
          kept?.job ?? null,
          { version: slot?.run.version ?? 0 },
          { running: 0, waiting: 0 },
        );
        const instantMs = slot?.run.instantMs ?? 0;
        if (ruling.run === "now")
          ran.push({ job: id, instantMs, version: slot?.run.version ?? 0, jobVersion: truth.job.version });
        const now = await jobs.get(id);
        if (now !== null && ruling.run === "now") {
          const end = {
            slot: { id: row.id, instantMs },
            outcome: "ok",
            reason: null,
            endedAtMs: nowMs,
          } as const;
          await jobs.write(now, afterRun(now.job, end).job);
        }
      }
      if (rows.length > 0)
        await store.inbox.stop(sessionOfRuns(truth.job), { turn: "open", rows: "all", reason: "ended" });
    }
  }

  async function judge(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const kept = await jobs.get(id);
      if (kept === null) throw new Error(`the job ${id} is gone`);
      const { job } = kept;
      if (job.version < (edited.get(id) ?? 1)) violations.add(`undone: an edit of ${id} is gone`);
      const own = ran.filter((each) => each.job === id);
      const instants = own.map(({ instantMs }) => instantMs);
      if (new Set(instants).size < instants.length) violations.add(`once: ${id} ran an instant twice`);
      for (const { version, jobVersion, instantMs } of own)
        if (version !== jobVersion)
          violations.add(`old: ${id} ran ${iso(instantMs)} by version ${version} of ${jobVersion}`);
      const rows = (await store.inbox.find({ lane: sessionOfRuns(job), limit: 1_000 })).map((row) => row.id);
      if (!uncounted.has(id)) counted(job, rows, instants);
    }
  }

  /**
   * Of a job that nobody edited: what is decided came as a row or is counted as missed, and nothing else
   * came.
   */
  function counted(job: Job, rows: readonly string[], instants: readonly number[]): void {
    const { id, state, createdAtMs, schedule } = job;
    const expected = new Set<number>();
    for (let at = createdAtMs; ;) {
      const [next] = nextInstants(schedule, at, 1);
      if (next === undefined || next > state.decidedMs) break;
      expected.add(next);
      at = next;
    }
    const fired = rows.filter((row) => row.startsWith(`cron:${id}:`)).length;
    if (fired + state.missed < expected.size)
      violations.add(
        `lost: of ${expected.size} instants of ${id} ${fired} fired and ${state.missed} were missed`,
      );
    if (fired + state.missed > expected.size)
      violations.add(
        `twice: of ${expected.size} instants of ${id} ${fired} fired and ${state.missed} were missed`,
      );
    for (const atMs of instants)
      if (!expected.has(atMs)) violations.add(`false: ${id} has no instant ${iso(atMs)}`);
    if (instantsOfSchedule(schedule).next(state.decidedMs) !== state.nextMs || staggerOf(job) >= hourMs)
      violations.add(`next: ${id} waits for another instant than its next`);
  }
}

/** The same store, whose calls wait a little, and which dies before or after its nth one. */
function mortal(store: SqliteStore, draw: Draw, name: string, dies: number): SqliteStore {
  let nth = 0;
  const each =
    <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      nth += 1;
      const own = `${name} ${nth}`;
      for (let wait = Math.floor(draw(`wait ${own}`) * 4); wait > 0; wait -= 1)
        await new Promise(setImmediate);
      if (nth > dies || (nth === dies && draw(`before ${own}`) < 0.5)) throw new Death();
      const done = await call(...args);
      if (nth === dies) throw new Death();
      return done;
    };
  const { inbox, cells, sessions } = store;
  return {
    ...store,
    inbox: { ...inbox, accept: each(inbox.accept), find: each(inbox.find) },
    cells: { ...cells, get: each(cells.get), put: each(cells.put) },
    sessions: { ...sessions, open: each(sessions.open), reset: each(sessions.reset) },
  };
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
