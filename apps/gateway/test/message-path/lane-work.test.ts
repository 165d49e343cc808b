// The work of a process beside its turns: what begins with it, what of it goes on each minute, which config's
// hands it is done by, and that nothing of it goes on after its end. The store and the pools are real.
import {
  formatRowPayload,
  silentLog,
  type ConversationKey,
  type Log,
  type SessionKey,
} from "@parley/protocol";
import { directMessage, seededIds, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { startWork, turnsAtOnce, type LaneWork } from "../../src/message-path/lane-work.ts";
import { live, perConfig } from "../../src/message-path/live.ts";
import { jobChanges } from "../../src/schedules/job-changes.ts";
import { memoryStore } from "../receive/store.ts";

const lane = "agent:main:telegram:dm:5" as SessionKey;
const conversation = "telegram:default:dm:5" as ConversationKey;

async function stage({ turns = true }: { readonly turns?: boolean } = {}) {
  const clock = virtualClock({ startMs: 1_000_000 });
  const store = await memoryStore(clock);
  onTestFinished(() => store.close());
  const did: string[] = [];
  const lines: unknown[] = [];
  const log: Log = {
    ...silentLog,
    child: () => log,
    warn: (fields, words) => void lines.push([words, fields]),
  };
  const changes = jobChanges();
  const listening = { jobs: 0, calls: 0 };
  const counted = (what: "jobs" | "calls", stop: () => void) => {
    listening[what] += 1;
    return () => {
      listening[what] -= 1;
      stop();
    };
  };
  let fails: Error | null = null;
  const workOf = (name: string, more: Partial<LaneWork> = {}): LaneWork => ({
    concurrency: { main: 2, subagent: 1, cron: 1, heartbeat: 1 },
    lookAtJob: (async (id: string) => (did.push(`${name} looks at ${id}`), null)) as never,
    heartbeats: {
      agents: ["main"],
      everyMs: () => 3_600_000,
      beat: async () => (did.push(`${name} beats`), null),
      release: async () => {},
      count: () => {},
      counts: new Map(),
    },
    slotsNow: () => ({}) as never,
    leaveIdleThreads: async () => {
      did.push(`${name} leaves`);
      if (fails !== null) throw fails;
    },
    jobsOn: true,
    runTurn: async (turn) => {
      did.push(`${name} runs ${turn.rows.map(({ id }) => id).join(" ")}`);
      await store.turns.commit(turn, turn.id, { outcome: "answered", reason: "x", entries: [] });
      return { settled: true };
    },
    buryTurn: async () => {},
    deliver: (account) => {
      did.push(`${name} delivers for ${account}`);
      return async (batch) => {
        did.push(`${name} sends ${batch.deliveries.map(({ id }) => id).join(" ")}`);
        return { afterMs: 86_400_000, reason: "later" };
      };
    },
    ...more,
  });
  let now = workOf("first");
  const pools = startWork(
    {
      store,
      onReady: store.onReady,
      holder: "boot",
      jobChanges: {
        onChange: (listener) => counted("jobs", changes.onChange(listener)),
        onCall: (listener) => counted("calls", changes.onCall(listener)),
      },
      isShared: false,
      clock,
      ids: seededIds(1),
      log,
    },
    () => now,
    { turns, accounts: ["telegram:default"] },
  );
  const accept = (id: string) =>
    store.inbox.accept([
      {
        id,
        pool: "main",
        lane,
        conversation,
        authority: "owner",
        as: { kind: "work" },
        payload: formatRowPayload({ v: 1, inbound: directMessage({ id }), owner: true }),
      },
    ]);
  const post = (id: string) =>
    store.outbox.post([
      {
        id,
        pool: "telegram:default",
        lane: `${conversation}${id}` as ConversationKey,
        cause: id,
        parts: [{ content: "{}" }],
      },
    ]);
  const fail = (error: Error | null) => void (fails = error);
  return {
    clock,
    store,
    did,
    lines,
    listening,
    changes,
    pools,
    workOf,
    accept,
    post,
    fail,
    use: (next: LaneWork) => void (now = next),
  };
}

test("threads are left each minute, also after a look that failed, by the config in force, until the end", async () => {
  const { clock, did, lines, listening, pools, workOf, use, fail } = await stage();
  const leaves = () => did.filter((line) => line.endsWith("leaves"));
  expect(listening).toEqual({ jobs: 1, calls: 1 });
  await clock.advance(59_999);
  expect(leaves()).toEqual([]);
  fail(new Error("no store"));
  await clock.advance(1);
  expect([leaves(), lines]).toEqual([
    ["first leaves"],
    [["threads that nobody uses could not be left now, trying again", { error: new Error("no store") }]],
  ]);
  fail(null);
  use(workOf("second"));
  await clock.advance(60_000);
  expect(leaves()).toEqual(["first leaves", "second leaves"]);
  await clock.advance(3_600_000);
  expect(did.filter((line) => line.endsWith("beats"))).toEqual(["second beats"]);
  const ending = pools.drain({ turnsMs: 0, flushMs: 0 });
  await clock.advance(0);
  await ending;
  did.length = 0;
  await clock.advance(7_200_000);
  expect([did, listening, clock.armed()]).toEqual([[], { jobs: 0, calls: 0 }, 0]);
});

test("turns and deliveries are worked on by the config in force, and a deliverer is made anew only for another one", async () => {
  const { clock, did, pools, workOf, use, accept, post } = await stage();
  // Once for each account, and for what programs are answered by.
  const made = (name: string) =>
    did.filter((line) => line === `${name} delivers for telegram:default`).length;
  expect(made("first")).toBe(1);
  await accept("m1");
  await post("d1");
  await clock.advance(1_000);
  await post("d2");
  await clock.advance(1_000);
  use(workOf("second"));
  await accept("m2");
  for (const id of ["d3", "d4"]) {
    await post(id);
    await clock.advance(1_000);
  }
  expect(did.filter((line) => / (?:runs|sends) /.test(line))).toEqual([
    "first runs m1",
    "first sends d1",
    "first sends d2",
    "second runs m2",
    "second sends d3",
    "second sends d4",
  ]);
  expect([made("first"), made("second")]).toEqual([1, 1]);
  const ending = pools.drain({ turnsMs: 0, flushMs: 0 });
  await clock.advance(0);
  await ending;
});

test("a turn that can never succeed is buried by the config in force", async () => {
  const { clock, did, pools, workOf, use, accept } = await stage();
  const buries = (name: string): Partial<LaneWork> => ({
    runTurn: async () => {
      if (name === "first") use(workOf("second", buries("second")));
      throw new TypeError("poison");
    },
    buryTurn: async (turn, error) => {
      did.push(`${name} buries ${turn.rows.map(({ id }) => id).join(" ")}: ${String(error)}`);
    },
  });
  use(workOf("first", buries("first")));
  await accept("m1");
  await clock.advance(1_000);
  expect(did.filter((line) => line.includes("buries"))[0]).toBe("second buries m1: TypeError: poison");
  const ending = pools.drain({ turnsMs: 0, flushMs: 0 });
  await clock.advance(0);
  await ending;
});

test("a process that runs no turns delivers, and looks at neither jobs nor heartbeats nor threads", async () => {
  const { clock, did, listening, pools, accept, post } = await stage({ turns: false });
  await accept("m1");
  await post("d1");
  await clock.advance(7_200_000);
  expect([did.filter((line) => !line.includes("delivers")), listening]).toEqual([
    ["first sends d1"],
    { jobs: 0, calls: 0 },
  ]);
  const ending = pools.drain({ turnsMs: 0, flushMs: 0 });
  await clock.advance(0);
  await ending;
  expect(clock.armed()).toBe(0);
});

test("as many turns run at once as the config says of each kind, and two heartbeats", () => {
  const config = {
    agents: { defaults: { maxConcurrent: 5, subagents: { maxConcurrent: 7 } } },
    cron: { maxConcurrentRuns: 3 },
  };
  expect(turnsAtOnce(config as never)).toEqual({ main: 5, subagent: 7, cron: 3, heartbeat: 2 });
});

test("what stands for a part of the config is the part in force at each use; one that is built is built once a config", () => {
  let now: { readonly name: string; readonly extra?: number } = { name: "one" };
  const stands = live(() => now);
  const built: string[] = [];
  const made = perConfig(
    () => now,
    (settings) => {
      built.push(settings.name);
      return { says: (word: string) => `${settings.name} ${word}` };
    },
  );
  const { says } = made;
  expect([stands.name, "extra" in stands, says("a"), says("b"), built]).toEqual([
    "one",
    false,
    "one a",
    "one b",
    ["one"],
  ]);
  now = { name: "two", extra: 1 };
  expect([stands.name, "extra" in stands, stands.extra, says("a"), says("b"), built]).toEqual([
    "two",
    true,
    1,
    "two a",
    "two b",
    ["one", "two"],
  ]);
});
