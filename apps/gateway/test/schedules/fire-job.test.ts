// One look at a job: which rows it writes, what it counts, logs and notes of them, and whom it tells when the
// job cannot run any more.
import type { Address } from "@parley/protocol";
import { emptyRun, runLog, scheduleRow, sessionOfRuns } from "@parley/runner";
import { jobStore, newJob, type Job, type JobStore } from "@parley/schedules";
import { virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { fireJob, type FireJobOptions } from "../../src/schedules/fire-job.ts";
import { keepingForHeartbeat } from "../../src/schedules/heartbeats.ts";
import { slotCounts } from "../../src/schedules/slot-counts.ts";
import { watchSlots } from "../../src/schedules/watch-slots.ts";
import { memoryStore } from "../receive/store.ts";
import { keptLog } from "./log-lines.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const dm = (peer: string): Address => ({ channel: "telegram", account: "default", kind: "dm", peer });
const operator = {
  kind: "operator",
  sender: null,
  isOwner: true,
  conversation: null,
  session: null,
  turn: null,
  authority: "owner",
  tools: null,
} as const;

interface Set extends Partial<Pick<FireJobOptions, "agents" | "closedAt" | "reach">> {
  readonly isOwner?: boolean;
  readonly jobsOf?: (jobs: JobStore) => JobStore;
}

async function world({
  agents = ["main"],
  closedAt,
  reach,
  isOwner = true,
  jobsOf = (jobs) => jobs,
}: Set = {}) {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  const jobs = jobStore(store.cells);
  const { log, lines } = keptLog();
  const runs = runLog(store.cells, { retentionMs: 30 * dayMs, keepLines: 100 });
  const counts = slotCounts();
  const stopped: string[] = [];
  const fire = fireJob({
    schedules: {
      jobs: jobsOf(jobs),
      log: runs,
      rightsNow: async () => ({ owner: isOwner, authority: "owner" }),
    },
    store,
    agents,
    running: { stop: (turn) => stopped.push(turn) > 0 },
    reach: reach ?? (async () => null),
    closedAt: closedAt ?? (async () => null),
    ownersAt: async () => [dm("olga"), dm("bob")],
    keeping: keepingForHeartbeat({
      agents: { list: [{ id: "main", heartbeat: { every: "1h" } }] },
    } as never),
    sessionRetentionMs: dayMs,
    counts,
    watches: watchSlots(async () => ({ digest: "d", files: [] }), clock),
    clock,
    log,
  });
  async function add(more: object = {}, owner: object = operator): Promise<Job> {
    const made = newJob(
      {
        name: "Look",
        schedule: { kind: "every", every: "10m" },
        payload: { kind: "agentTurn", message: "look" },
        delivery: { kind: "none" },
        ...more,
      },
      { nowMs: clock.now(), zone: "UTC", id: "look", agent: "main", owner: owner as never },
    );
    if (!made.ok) throw new Error(JSON.stringify(made.problems));
    await jobs.add(made.job);
    return made.job;
  }
  const state = async () => (await jobs.get("look"))?.job.state;
  const rows = async (job: Job) => store.inbox.find({ lane: sessionOfRuns(job), limit: 100 });
  const told = async () =>
    (await store.outbox.find({ limit: 10 }))
      .map(({ id, lane }) => [id, lane])
      .toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1));
  return { clock, store, jobs, lines, runs, counts, stopped, fire, add, state, rows, told };
}

const slotAt = (nth: number): string =>
  `cron:look:${new Date(Date.UTC(2026, 0, 1) + nth * 10 * minuteMs).toISOString()}`;

test("a look fires what is due, says when to look again, and counts and logs it; the next finds nothing", async () => {
  const { clock, fire, add, state, lines, counts, rows } = await world();
  const startMs = clock.now();
  const job = await add();
  expect(await fire("look")).toBe(startMs + 10 * minuteMs);
  await clock.advance(10 * minuteMs + 2_500);
  expect(await fire("look")).toBe(startMs + 20 * minuteMs);
  expect(await fire("look")).toBe(startMs + 20 * minuteMs);
  expect((await rows(job)).map(({ id }) => id)).toEqual([slotAt(1)]);
  expect(await state()).toMatchObject({ runs: 1, missed: 0, nextMs: startMs + 20 * minuteMs });
  expect(lines).toEqual([
    ["info", "schedule fired", { job: "look", rows: [slotAt(1)], skipped: 0, missed: 0, written: true }],
  ]);
  // The next one is later than usual, and skipped because the first waits still: only what fired was late.
  await clock.advance(10 * minuteMs + 7_500);
  await fire("look");
  expect(counts.now()).toEqual({
    fired: 1,
    skipped: { overlap: 1, spend: 0 },
    missed: { window: 0, policy: 0 },
    lateSeconds: 2.5,
    mostLateSeconds: 2.5,
  });
  expect(await fire("gone")).toBeNull();
});

test("the counts are a copy, and the latest of all is the one that was latest", () => {
  const counts = slotCounts();
  counts.fired(3_000);
  const before = counts.now();
  counts.fired(1_000);
  counts.skipped("spend");
  counts.missed("policy", 3);
  counts.missed("window", 2);
  expect(before).toMatchObject({ fired: 1, skipped: { spend: 0 }, missed: { policy: 0 } });
  expect(counts.now()).toEqual({
    fired: 2,
    skipped: { overlap: 0, spend: 1 },
    missed: { window: 2, policy: 3 },
    lateSeconds: 4,
    mostLateSeconds: 3,
  });
});

test("a look that somebody's edit came before counts nothing, and looks again at once; the rows are known then", async () => {
  let edits = true;
  const { clock, fire, add, counts, lines, runs } = await world({
    jobsOf: (jobs) => ({
      ...jobs,
      async write(kept, next) {
        if (edits)
          await jobs.pause("look", "meanwhile", 0).then(() => jobs.resume("look", kept.job.createdAtMs));
        return jobs.write(kept, next);
      },
    }),
  });
  await add();
  await clock.advance(10 * minuteMs);
  expect(await fire("look")).toBe(clock.now());
  expect([counts.now().fired, lines.length]).toEqual([0, 1]);
  expect(lines[0]).toMatchObject(["info", "schedule fired", { written: false }]);
  edits = false;
  await fire("look");
  expect(await runs.list("look", 10)).toEqual([]);
});

test("of instants that come again after the clock was set back, those that ran are no runs once more", async () => {
  const { clock, fire, add, state, rows } = await world();
  const job = await add({ overlap: "queue" });
  await clock.advance(20 * minuteMs);
  await fire("look");
  await clock.advance(10 * minuteMs);
  await fire("look");
  expect(await state()).toMatchObject({ runs: 2 });
  clock.jumpWall(-10 * minuteMs - 1_000);
  await fire("look");
  await clock.advance(10 * minuteMs + 1_000);
  await fire("look");
  expect([(await state())?.runs, (await rows(job)).length]).toEqual([2, 2]);
});

describe("tokens of a day", () => {
  test.for([
    ["one below the most", [["a", 100, 999, 0]], true],
    [
      "as many as may be",
      [
        ["a", 100, 600, 0],
        ["b", 200, 400, 0],
      ],
      false,
    ],
    ["used a day ago", [["a", 100, 5_000, dayMs]], true],
    ["a run that began before and ended within the day", [["a", 3 * dayMs, 5_000, dayMs - 1]], false],
  ] as const)("%s", async ([, used, runsNow]) => {
    const { clock, fire, add, counts, rows, runs, lines } = await world();
    const job = await add({ mostTokensPerDay: 1_000, schedule: { kind: "every", every: "7d" } });
    await clock.advance(7 * dayMs);
    const nowMs = clock.now();
    await runs.note(
      used.map(([slot, beganAgoMs, tokens, endedAgoMs]) => ({
        ...emptyRun(job, nowMs - endedAgoMs),
        slot,
        instantMs: nowMs - beganAgoMs,
        outcome: "ok",
        reason: null,
        tokens,
      })),
    );
    await fire("look");
    expect(counts.now()).toMatchObject({
      fired: runsNow ? 1 : 0,
      skipped: { spend: runsNow ? 0 : 1, overlap: 0 },
    });
    expect(lines).toMatchObject([["info", "schedule fired", { skipped: runsNow ? 0 : 1 }]]);
    const [row] = await rows(job);
    const sum = used.reduce((all, [, , tokens]) => all + tokens, 0);
    const why = `its runs used ${sum} tokens within a day, and 1000 may be (mostTokensPerDay)`;
    expect([row?.outcome, row?.reason]).toEqual(runsNow ? [null, null] : ["superseded", why]);
    const noted = (await runs.list("look", 10)).filter(({ outcome }) => outcome === "skipped");
    expect(noted).toEqual(
      runsNow
        ? []
        : [{ ...emptyRun(job, nowMs), slot: row?.id, instantMs: nowMs, outcome: "skipped", reason: why }],
    );
  });
});

describe("a job that cannot run any more", () => {
  const closed = async ({ address }: { readonly address: Address }) =>
    address.peer === "gone" ? "blocked" : null;
  const made = { ...operator, kind: "turn", sender: "telegram:eve", isOwner: false } as const;
  const announce = { kind: "announce", to: dm("gone"), bestEffort: false };

  test.for([
    [
      "its agent is gone, best effort or not",
      { agents: ["other"] },
      { delivery: { ...announce, bestEffort: true } },
      {},
      'there is no agent "main" any more',
      ["olga", "bob"],
    ],
    [
      "its place is closed",
      { reach: closed },
      { delivery: announce },
      {},
      "its answer can not be delivered: blocked",
      ["olga", "bob"],
    ],
    [
      "its maker is not served, best effort or not",
      { reach: closed, isOwner: false },
      { delivery: { ...announce, to: dm("x"), bestEffort: true } },
      { ...made, conversation: dm("gone") },
      "whoever made it is not served any more: blocked",
      ["olga", "bob"],
    ],
    [
      "its place is closed, and its maker hears of it",
      { reach: closed, isOwner: false },
      { delivery: announce },
      { ...made, conversation: dm("eve") },
      "its answer can not be delivered: blocked",
      ["eve"],
    ],
  ] as const)("%s: it pauses, and who is to know is told once", async ([, set, more, owner, reason, who]) => {
    const { clock, fire, add, state, told, lines, rows, counts, store } = await world(set);
    const job = await add(more, { ...operator, ...owner });
    await clock.advance(10 * minuteMs);
    const nowMs = clock.now();
    expect(await fire("look")).toBeNull();
    expect((await state())?.paused).toEqual({ reason, atMs: nowMs });
    expect(await told()).toEqual(
      who.map((peer, at) => [`notice:cron:look:paused:${nowMs}/${at}`, `telegram:default:dm:${peer}`]),
    );
    const words = `⏸ The scheduled job "Look" (look) is paused: ${reason}\n\n\`parley cron enable look\` lets it go on.`;
    const [first] = await store.outbox.find({ limit: 1 });
    expect(JSON.stringify(first)).toContain(JSON.stringify(JSON.stringify(words).slice(1, -1)).slice(1, -1));
    expect(lines).toEqual([["warn", "a schedule is paused", { job: "look", reason }]]);
    expect([await rows(job), counts.now().fired]).toEqual([[], 0]);
  });

  test("a chat that the platform closed lets it go on by its next message, and its owner is told so", async () => {
    const { clock, fire, add, state, store } = await world({
      reach: closed,
      closedAt: async ({ peer }) => (peer === "gone" ? dm("moved") : null),
    });
    await add({ delivery: announce });
    await clock.advance(10 * minuteMs);
    await fire("look");
    expect((await state())?.paused?.until).toEqual(dm("moved"));
    expect(JSON.stringify(await store.outbox.find({ limit: 1 }))).toContain(
      "lets it go on, and so does the next message from there.",
    );
  });
});

describe("a job whose event waits for the heartbeat", () => {
  const event = {
    wake: "next-heartbeat",
    target: { kind: "main" },
    payload: { kind: "systemEvent", text: "tea" },
  };

  test("keeps it once, lets it stand for the next one, and other jobs' events are none of its own", async () => {
    const { clock, fire, add, store, rows, jobs } = await world();
    const job = await add(event);
    // Of another job, whose name begins like this one's.
    await store.cells.put(
      "heartbeat-event:main:cron:looking:x",
      JSON.stringify({ id: "cron:looking:x" }),
      {},
    );
    await clock.advance(10 * minuteMs);
    const kept = async () =>
      (await store.cells.list("heartbeat-event:main:cron:look:", 10)).map(({ key }) => key);
    const before = (await jobs.get("look"))?.job;
    await fire("look");
    expect([await rows(job), await kept()]).toEqual([[], [`heartbeat-event:main:${slotAt(1)}`]]);
    // A look that died before it wrote what it decided: the same event once more, and nothing is skipped.
    const now = await jobs.get("look");
    if (now === null || before === undefined) throw new Error("the job is gone");
    await jobs.write(now, before);
    await fire("look");
    expect([await rows(job), await kept()]).toEqual([[], [`heartbeat-event:main:${slotAt(1)}`]]);
    await clock.advance(10 * minuteMs);
    await fire("look");
    expect((await rows(job)).map(({ id, outcome }) => [id, outcome])).toEqual([[slotAt(2), "superseded"]]);
    expect(await kept()).toEqual([`heartbeat-event:main:${slotAt(1)}`]);
  });

  test("of several that are due at once only the first is kept, where runs are skipped", async () => {
    const { clock, fire, add, store, rows } = await world();
    const job = await add({ ...event, misfire: "all" });
    await clock.advance(30 * minuteMs);
    await fire("look");
    const kept = await store.cells.list("heartbeat-event:main:", 10);
    expect(kept.map(({ key }) => key)).toEqual([`heartbeat-event:main:${slotAt(1)}`]);
    expect(Object.fromEntries((await rows(job)).map(({ id, outcome }) => [id, outcome]))).toEqual({
      [slotAt(2)]: "superseded",
      [slotAt(3)]: "superseded",
    });
  });
});

describe("rows beside one another", () => {
  test("of those that are due at once the first runs and the others are skipped, with a line each", async () => {
    const { clock, fire, add, rows, runs, lines } = await world();
    const job = await add({ misfire: "all" });
    await clock.advance(30 * minuteMs);
    await fire("look");
    const reason = "the job's last run goes on, and its overlap policy is skip";
    expect(Object.fromEntries((await rows(job)).map(({ id, outcome }) => [id, outcome]))).toEqual({
      [slotAt(1)]: null,
      [slotAt(2)]: "superseded",
      [slotAt(3)]: "superseded",
    });
    expect((await runs.list("look", 9)).map((run) => [run.slot, run.outcome, run.reason])).toEqual([
      [slotAt(3), "skipped", reason],
      [slotAt(2), "skipped", reason],
    ]);
    expect(lines).toMatchObject([
      ["info", "schedule fired", { rows: [slotAt(1), slotAt(2), slotAt(3)], skipped: 2 }],
    ]);
  });

  test("a run by hand, and another job's run in the same session, hold up none", async () => {
    const { clock, fire, add, rows, store } = await world();
    const session = "agent:main:telegram:dm:olga" as never;
    const job = await add({ target: { kind: "session", session } });
    const internal = { slot: { version: 1, instantMs: 1, own: false } };
    const row = (id: string, name: string) =>
      scheduleRow({
        id,
        lane: session,
        place: dm("olga"),
        job: name,
        sender: "web:operator",
        owner: true,
        authority: "owner",
        text: "",
        turn: "",
        nowMs: 1,
        internal,
      });
    await store.inbox.accept([row("cron:look:run:1", "look"), row("cron:other:x", "other")]);
    await clock.advance(10 * minuteMs);
    await fire("look");
    expect((await rows(job)).find(({ id }) => id === slotAt(1))?.outcome).toBeNull();
  });

  test("a hundred of a queue wait and no more", async () => {
    const { clock, fire, add, counts } = await world();
    await add({
      schedule: { kind: "every", every: "1m" },
      overlap: "queue",
      misfire: "all",
      catchUpMs: 7_200_000,
    });
    await clock.advance(99 * minuteMs);
    await fire("look");
    expect(counts.now()).toMatchObject({ fired: 99, skipped: { overlap: 0 } });
    await clock.advance(2 * minuteMs);
    await fire("look");
    expect(counts.now()).toMatchObject({ fired: 100, skipped: { overlap: 1 } });
  });

  test("a run begins a session only where none goes on, and only where the last one left something", async () => {
    const { clock, fire, add, store, rows } = await world();
    const job = await add({ overlap: "queue" });
    const lane = sessionOfRuns(job);
    const epoch = async () => (await store.sessions.open(lane)).epoch;
    await clock.advance(10 * minuteMs);
    await fire("look");
    const first = await epoch();
    expect((await rows(job)).length).toBe(1);
    await clock.advance(10 * minuteMs);
    await fire("look");
    expect(await epoch()).toBe(first);
  });
});

test("a job that watches writes what it saw first, though nothing is due", async () => {
  const { clock, fire, add, state, rows } = await world();
  const job = await add({ schedule: { kind: "watch", path: "inbox" } });
  expect((await state())?.seen).toBeUndefined();
  const nowMs = clock.now();
  await fire("look");
  expect((await state())?.seen).toEqual({ generation: 0, digest: "d", atMs: nowMs });
  expect([await rows(job), (await state())?.runs]).toEqual([[], 0]);
});
