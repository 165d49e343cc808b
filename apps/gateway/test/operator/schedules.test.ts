// What operators are served about schedules: jobs whole, what all of them do together, and whose home a new
// one has.
import { Fault } from "@parley/protocol";
import { asWritten, newJob, type Job } from "@parley/schedules";
import { sessionOfRuns } from "@parley/runner";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { jobNamed, operatorOf, scheduleMethods } from "../../src/operator/schedules.ts";

const startMs = Date.UTC(2026, 0, 1, 12, 0);
const hourMs = 3_600_000;

/** A daily job of this hour, with what the test is about laid over it. */
function job(id: string, hour: number, more: object = {}, state: object = {}): Job {
  const { agent: _agent, ...owner } = operatorOf("main");
  const asked = { schedule: { expr: `0 ${hour} * * *` }, message: `do ${id}`, name: `name of ${id}` };
  const made = newJob(asWritten(asked, true), { nowMs: startMs, zone: "UTC", id, agent: "main", owner });
  if (!made.ok) throw new Error(JSON.stringify(made.problems));
  return { ...made.job, ...more, state: { ...made.job.state, ...state } } as Job;
}

function stage(jobs: readonly Job[] = [], { ids = ["main", "other"], lanes = [] as readonly object[] } = {}) {
  const did: (readonly unknown[])[] = [];
  const does =
    <T>(what: string, answer: (...given: never[]) => T) =>
    async (...given: never[]): Promise<T> => {
      did.push([what, ...given]);
      return answer(...given);
    };
  const named = (id: string): Job => {
    const found = jobs.find((each) => each.id === id || each.name === id);
    if (found === undefined) throw new Fault("missing", `there is no job ${id}`);
    return found;
  };
  const schedules = {
    zone: "Europe/Berlin",
    list: does("list", () => jobs),
    get: does("get", (id: string) => ({ job: named(id) })),
    add: does("add", () => job("new", 1)),
    edit: does("edit", (id: string) => ({ ...named(id), version: 9 })),
    remove: does("remove", (id: string) => named(id)),
    run: does("run", (id: string) => `run of ${id}`),
    runs: does("runs", () => ({
      now: [{ slot: "now" }],
      ended: [
        { v: 1, job: "x", slot: "s1" },
        { v: 1, job: "x", slot: "s2" },
      ],
    })),
    wake: does("wake", () => ({ id: "row", lane: "lane" })),
    tell: does("tell", () => undefined),
    homeOf: does("homeOf", (agent: string) => ({ session: `home of ${agent}`, place: { peer: agent } })),
    jobs: { list: async () => ({ jobs: jobs.map((each) => ({ job: each })), unreadable: ["bad"] }) },
    log: { list: async (id: string) => (id === "was" ? [{}] : []) },
  };
  const methods = scheduleMethods({
    config: { agents: { list: ids.map((id) => ({ id })) }, cron: { enabled: false } },
    schedules,
    work: { slotsNow: () => ({ fired: 1 }) },
    store: { turns: { list: does("turns", () => lanes) } },
    clock: virtualClock({ startMs }),
    ids: { uuid: () => "12345678-rest" },
  } as never);
  return { did, methods, schedules };
}

test("a job is shown whole, with its words, its next instant, and what its last run became", async () => {
  const last = { slot: "s", outcome: "ok", atMs: 5 };
  const shown = job(
    "a",
    9,
    {
      agent: "other",
      enabled: true,
      version: 3,
      createdAtMs: 11,
      editedAtMs: 12,
      timeoutSeconds: 13,
      staggerMs: 14,
      catchUpMs: 15,
      maxRuns: 16,
      mostTokensPerDay: 17,
      deleteAfterRun: true,
      misfire: "last",
      overlap: "queue",
      wake: "now",
    },
    { runs: 21, missed: 22, consecutiveErrors: 23, last, paused: { reason: "the chat is closed" } },
  );
  const { methods, did } = stage([shown]);
  const { job: told } = await methods["cron.get"]({ id: "a" });
  const { owner, delivery, target, payload, schedule } = shown;
  const { kind, sender, isOwner, session } = owner;
  expect(told).toEqual({
    id: "a",
    name: "name of a",
    agent: "other",
    enabled: true,
    paused: "the chat is closed",
    words: "every day at 09:00 UTC",
    schedule,
    payload,
    target,
    session: sessionOfRuns(shown),
    delivery,
    wake: "now",
    misfire: "last",
    overlap: "queue",
    staggerMs: 14,
    catchUpMs: 15,
    maxRuns: 16,
    deleteAfterRun: true,
    timeoutSeconds: 13,
    mostTokensPerDay: 17,
    version: 3,
    createdAtMs: 11,
    editedAtMs: 12,
    owner: { kind, sender, isOwner, session },
    nextAtMs: null,
    nextAt: null,
    runs: 21,
    missed: 22,
    consecutiveErrors: 23,
    last,
  });
  // One that is paused has no next instant.
  expect([told.nextAtMs, told.nextAt]).toEqual([null, null]);
  expect(did).toEqual([["get", "a", operatorOf("main")]]);
  const { job: well } = await stage([job("b", 13)]).methods["cron.get"]({ id: "b" });
  expect(well).toMatchObject({
    paused: null,
    last: null,
    enabled: true,
    nextAtMs: startMs + hourMs,
    nextAt: "2026-01-01T13:00:00.000Z",
  });
});

test("the jobs of one agent are listed alone, all of them without", async () => {
  const { methods } = stage([job("a", 9), job("b", 9, { agent: "other" }), job("c", 9)]);
  const list = async (params: object) => (await methods["cron.list"](params)).jobs.map(({ id }) => id);
  expect([await list({}), await list({ agent: "main" }), await list({ agent: "other" })]).toEqual([
    ["a", "b", "c"],
    ["a", "c"],
    ["b"],
  ]);
});

test("an operator asks as one of the agent main, or of the first where there is none", async () => {
  for (const [ids, agent] of [
    [["other", "main"], "main"],
    [["first", "second"], "first"],
  ] as const) {
    const { methods, did } = stage([job("a", 9)], { ids: [...ids] });
    await methods["cron.list"]({});
    await methods["cron.get"]({ id: "a" });
    await methods["cron.runs"]({ id: "a" });
    expect(did).toEqual([
      ["list", operatorOf(agent)],
      ["get", "a", operatorOf(agent)],
      ["get", "a", operatorOf(agent)],
      ["runs", "a", 50],
    ]);
  }
  expect(operatorOf("first")).toEqual({
    agent: "first",
    kind: "operator",
    sender: null,
    isOwner: true,
    conversation: null,
    session: null,
    turn: null,
    authority: "owner",
    tools: null,
  });
});

test("all jobs together: how many of each kind, and which one comes next", async () => {
  const jobs = [
    job("late", 18),
    job("off", 13, { enabled: false }),
    job("soon", 14, {}, { consecutiveErrors: 1 }),
    job("paused", 13, {}, { paused: { reason: "x" } }),
    job("paused-too", 13, {}, { paused: { reason: "y" }, consecutiveErrors: 2 }),
  ];
  const { methods, did } = stage(jobs, { lanes: [{ holder: "boot" }, { holder: null }, { holder: "boot" }] });
  expect(await methods["cron.status"]({})).toEqual({
    enabled: false,
    zone: "Europe/Berlin",
    jobs: 5,
    switchedOff: 1,
    paused: 2,
    running: 2,
    slots: { fired: 1 },
    failing: 2,
    nextAtMs: startMs + 2 * hourMs,
    nextAt: "2026-01-01T14:00:00.000Z",
    nextJob: "soon",
    unreadable: ["bad"],
  });
  expect(did).toEqual([["turns", "cron", 1_000]]);
  expect(await stage().methods["cron.status"]({})).toMatchObject({
    jobs: 0,
    nextAtMs: null,
    nextAt: null,
    nextJob: null,
  });
});

test("a new job, and a wake, has the home of the agent that it names, by either word; else of main, or the first", async () => {
  const home = (agent: string) => ({
    ...operatorOf(agent),
    session: `home of ${agent}`,
    conversation: { peer: agent },
  });
  const maker = async (asked: object, ids?: readonly string[]): Promise<unknown> => {
    const { methods, did } = stage([], ids === undefined ? {} : { ids: [...ids] });
    const { job: made } = await methods["cron.add"]({ job: asked } as never);
    expect([made.id, made.nextAt]).toEqual(["new", "2026-01-02T01:00:00.000Z"]);
    expect(did.find(([what]) => what === "add")?.[1]).toBe(asked);
    return (did.find(([what]) => what === "add") as readonly unknown[])[2];
  };
  expect(await maker({ agent: "other" })).toEqual(home("other"));
  expect(await maker({ agentId: "other" })).toEqual(home("other"));
  expect(await maker({ agent: "gone" })).toEqual(home("main"));
  expect(await maker({}, ["first", "main"])).toEqual(home("main"));
  expect(await maker({}, ["first", "second"])).toEqual(home("first"));
  expect(await maker({}, [])).toEqual(home("main"));

  const { methods, did } = stage();
  const session = "agent:other:main";
  const woken = await methods.wake({ text: "up", session });
  expect(woken).toEqual({ id: "row", session: "lane", mode: "now" });
  await methods.wake({ text: "up", mode: "next-heartbeat", idempotencyKey: "k" });
  expect(did.filter(([what]) => what !== "homeOf")).toEqual([
    ["wake", { text: "up", mode: "now", session }, home("other"), "12345678-rest"],
    ["tell", { id: "row", lane: "lane" }, "other", "now"],
    ["wake", { text: "up", mode: "next-heartbeat", session: undefined }, home("main"), "k"],
    ["tell", { id: "row", lane: "lane" }, "main", "next-heartbeat"],
  ]);
  // Nobody else is woken instead, and no turn begins that has no agent.
  const refused = async (asked: object): Promise<unknown> =>
    methods.wake({ text: "up", ...asked }).catch((error: unknown) => (error as Error).message);
  const told = did.length;
  expect([
    await refused({ agent: "gone" }),
    await refused({ session: "agent:gone:main" }),
    await refused({ agent: "main", session }),
  ]).toEqual([
    'agent: there is no agent "gone"; there are main, other',
    'session: there is no agent "gone"; there are main, other',
    'agent: "agent:other:main" is a session of "other", not of "main". Leave agent out',
  ]);
  expect(did.length).toBe(told);
});

test("a job is changed, run and removed under its id, also where its name was said", async () => {
  const { methods, did, schedules } = stage([job("a", 9)]);
  const operator = operatorOf("main");
  expect(
    (await methods["cron.update"]({ id: "a", patch: { enabled: false }, version: 4 })).job,
  ).toMatchObject({
    id: "a",
    version: 9,
  });
  expect(await methods["cron.run"]({ id: "name of a" })).toEqual({ id: "a", run: "run of a" });
  await methods["cron.run"]({ id: "a", idempotencyKey: "k" });
  expect(await methods["cron.remove"]({ id: "name of a" })).toEqual({ id: "a", name: "name of a" });
  expect(did.filter(([what]) => what !== "get")).toEqual([
    ["edit", "a", { enabled: false }, operator, 4],
    ["run", "a", operator, "12345678"],
    ["run", "a", operator, "k"],
    ["remove", "name of a", operator],
  ]);
  expect((await jobNamed(schedules as never, "name of a")).id).toBe("a");
});

test("runs are those of the job that a name means, also of one that is gone, as many as are asked for", async () => {
  const { methods, did } = stage([job("a", 9)]);
  expect(await methods["cron.runs"]({ id: "name of a" })).toEqual({
    id: "a",
    now: [{ slot: "now" }],
    runs: [{ slot: "s1" }, { slot: "s2" }],
  });
  expect((await methods["cron.runs"]({ id: "was", limit: 7 })).id).toBe("was");
  expect(did.filter(([what]) => what === "runs")).toEqual([
    ["runs", "a", 50],
    ["runs", "was", 7],
  ]);
  await expect(methods["cron.runs"]({ id: "never" })).rejects.toThrow("there is no job never");
});
