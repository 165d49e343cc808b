// The pools of a process: how much one lease brings, how long it lasts, how many run at once, and who
// delivers for whom.
import { expect, onTestFinished, test } from "vitest";
import { conversationKey, silentLog, sleep, type Log, type SessionKey } from "@parley/protocol";
import { sqliteStore, type Lease } from "@parley/store";
import { seededIds, virtualClock } from "@parley/testkit";
import { startPools, turnPools, type PoolsOptions } from "../src/index.ts";

const conversation = (peer: number, account = "one") =>
  conversationKey({ channel: "loopback", account, kind: "dm", peer: String(peer) });

interface Leased {
  readonly lease: Lease;
  /** Of rows or deliveries. */
  readonly held: number;
  readonly untilMs: number;
}

async function fixture(more: Partial<PoolsOptions> = {}) {
  const clock = virtualClock();
  const store = await sqliteStore({
    path: ":memory:",
    clock,
    log: silentLog,
    bootId: "test",
    onFatal: (error) => expect.unreachable(String(error)),
  });
  const work: Leased[] = [];
  const rows = (count: number, pool: string, peer: number) =>
    store.inbox.accept(
      Array.from({ length: count }, (_, n) => ({
        id: `${pool}-${peer}-${n}`,
        pool,
        lane: `agent:main:loopback:dm:${pool}-${peer}` as SessionKey,
        conversation: conversation(peer),
        authority: "owner",
        as: { kind: "work" as const },
        payload: "{}",
      })),
    );
  const post = (count: number, peer: number, account = "one") =>
    store.outbox.post(
      Array.from({ length: count }, (_, n) => ({
        id: `${account}-${peer}-${n}`,
        pool: `loopback:${account}`,
        lane: conversation(peer, account),
        cause: "test",
        parts: [{ content: "x" }],
      })),
    );
  const start = () => {
    const forever = async (
      lease: Lease,
      held: number,
      list: typeof store.turns.list,
      signal: AbortSignal,
    ) => {
      const [lane] = (await list(undefined, 1_000)).filter((each) => each.lane === lease.lane);
      work.push({ lease, held, untilMs: (lane?.atMs ?? 0) - clock.now() });
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      throw signal.reason;
    };
    const pools = startPools({
      store,
      onReady: store.onReady,
      holder: "test",
      concurrency: { main: 3, cron: 2, subagent: 1, heartbeat: 1 },
      runTurn: (turn, { signal }) => forever(turn, turn.rows.length, store.turns.list, signal),
      buryTurn: async () => {},
      accounts: ["loopback:one"],
      deliver:
        () =>
        (batch, { signal }) =>
          forever(batch, batch.deliveries.length, store.outbox.list, signal),
      clock,
      ids: seededIds(1),
      log: silentLog,
      ...more,
    });
    onTestFinished(async () => {
      const drained = pools.drain({ turnsMs: 0, flushMs: 0 });
      for (let round = 0; round < 3; round += 1) {
        await settle();
        await clock.advance(10_000);
      }
      await drained;
      await store.close();
    });
    return pools;
  };
  return { clock, store, rows, post, work, start };
}

async function settle(): Promise<void> {
  for (let round = 0; round < 60; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

test("a turn takes at most 200 messages, a delivery lease 20 answers; they last half a minute and a minute", async () => {
  const { rows, post, work, start } = await fixture();
  for (const pool of turnPools) await rows(201, pool, 1);
  await post(21, 1);
  start();
  await settle();
  const seen = work.map(({ lease, held, untilMs }) => `${lease.lane} ${held} ${untilMs}`);
  expect(seen.toSorted()).toEqual(
    [
      ...turnPools.map((pool) => `agent:main:loopback:dm:${pool}-1 200 30000`),
      `${conversation(1)} 20 60000`,
    ].toSorted(),
  );
});

test("each class of turns has its own number at once, and an account 32 conversations", async () => {
  const { clock, rows, post, start } = await fixture();
  for (const pool of turnPools) for (let peer = 0; peer < 4; peer += 1) await rows(1, pool, peer);
  for (let peer = 0; peer < 33; peer += 1) await post(1, peer);
  const pools = start();
  await settle();
  await clock.advance(1_000);
  expect([pools.turnsRunning(), pools.deliveriesRunning()]).toEqual([3 + 2 + 1 + 1, 32]);
});

test("a process that runs no turns delivers all the same", async () => {
  const { rows, post, start } = await fixture({ runsTurns: false });
  await rows(1, "main", 1);
  await post(1, 1);
  const pools = start();
  await settle();
  expect([pools.turnsRunning(), pools.deliveriesRunning()]).toEqual([0, 1]);
});

test("an account that the config drops is left once its sends end; what it always serves, and leads, stays", async () => {
  const { clock, post, work, start } = await fixture({ always: ["loopback:always"] });
  const pools = start();
  const accounts = ["one", "two", "always", "led"];
  const led = pools.lead("loopback:led", () => 7);
  pools.serve(["loopback:two"]);
  await settle();
  await Promise.all(accounts.map((account) => post(1, 1, account)));
  await settle();
  const served = (): string[] => work.map(({ lease }) => lease.lane.split(":")[1] ?? "").toSorted();
  expect(served()).toEqual(["always", "led", "two"]);
  const ended = led.end();
  await clock.advance(1);
  await ended;
  await post(1, 2, "led");
  pools.serve(["loopback:one"]);
  await clock.advance(2_000);
  await settle();
  expect(served()).toEqual(["always", "led", "one", "two"]);
});

/** Starts eight sub-agents beside a person's turn of 350 ms; returns the time from each to the next. */
async function gapsBeside(busy: () => number, passMs: number): Promise<readonly number[]> {
  const begun: { readonly pool: string; readonly atMs: number }[] = [];
  const { clock, start, rows, store } = await fixture({
    concurrency: { main: 3, cron: 2, subagent: 8, heartbeat: 1 },
    busy,
    runTurn: async (turn, { signal }) => {
      begun.push({ pool: turn.pool, atMs: clock.now() });
      const forMs = turn.pool === "main" ? 350 : 10_000;
      await sleep(clock, forMs, signal);
      await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
      return { settled: true };
    },
  });
  start();
  await rows(1, "main", 1);
  await clock.advance(1);
  for (let peer = 0; peer < 8; peer += 1) await rows(1, "subagent", peer);
  await clock.advance(passMs);
  const times = begun.filter(({ pool }) => pool === "subagent").map(({ atMs }) => atMs);
  expect(times).toHaveLength(8);
  return times.slice(1).map((at, index) => at - (times[index] ?? 0));
}

test("background turns begin one after the other while people are served, also between two of their turns", async () => {
  expect(await gapsBeside(() => 0, 2_000)).toEqual([100, 100, 100, 100, 100, 100, 100]);
});

test("the busier the thread, the further apart they begin; once nobody was served for two seconds, all at once", async () => {
  const [first = 0, ...others] = await gapsBeside(() => 0.7, 10_000);
  expect(first).toBeGreaterThan(200);
  expect(others.slice(0, 3)).toEqual([first, first, first]);
  expect(await gapsBeside(() => 1, 10_000)).toEqual([1_000, 1_000, expect.any(Number), 0, 0, 0, 0]);
});

test("a person's turn never waits for the pace of background turns", async () => {
  const begun: string[] = [];
  const { clock, start, rows } = await fixture({
    concurrency: { main: 3, cron: 2, subagent: 8, heartbeat: 1 },
    runTurn: async (turn, { signal }) => {
      begun.push(turn.pool);
      await sleep(clock, 60_000, signal);
      throw signal.reason;
    },
  });
  start();
  for (let peer = 0; peer < 8; peer += 1) await rows(1, "subagent", peer);
  for (let peer = 0; peer < 3; peer += 1) await rows(1, "main", peer);
  await clock.advance(1);
  expect(begun.filter((pool) => pool === "main")).toHaveLength(3);
});

test("short background work keeps a smaller distance beside people, and none once they are gone", async () => {
  const { clock, start, rows } = await fixture({
    concurrency: { main: 3, cron: 2, subagent: 8, heartbeat: 1 },
    busy: () => 0.5,
    runTurn: async (_turn, { signal }) => {
      await sleep(clock, 60_000, signal);
      throw signal.reason;
    },
  });
  const { pace } = start();
  expect(pace.leftMs()).toBe(null);
  await rows(1, "main", 1);
  await clock.advance(1);
  expect(pace.leftMs()).toBe(0);
  pace.began();
  expect(pace.leftMs()).toBe(25);
  await clock.advance(10);
  expect(pace.leftMs()).toBe(15);
});

/**
 * Starts turns of people that make way `steps` times each, `stepMs` apart; returns when each step of each
 * went on.
 */
async function stepsOf(
  people: number,
  { steps, busy, stop }: { steps: number; busy: () => number; stop?: AbortSignal },
): Promise<readonly { readonly lane: string; readonly atMs: number }[]> {
  const went: { readonly lane: string; readonly atMs: number }[] = [];
  const { clock, start, rows, store } = await fixture({
    concurrency: { main: 8, cron: 2, subagent: 8, heartbeat: 1 },
    busy,
    runTurn: async (turn, lease) => {
      for (let step = 0; step < steps; step += 1) {
        await lease.makeWay(stop ?? lease.signal);
        went.push({ lane: turn.lane.slice(-1), atMs: clock.now() });
        await sleep(clock, 1, lease.signal);
      }
      await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
      return { settled: true };
    },
  });
  for (let peer = 0; peer < people; peer += 1) await rows(1, "main", peer);
  const startedAtMs = clock.now();
  start();
  await clock.advance(60_000);
  return went.map(({ lane, atMs }) => ({ lane, atMs: atMs - startedAtMs }));
}

test("a turn beside which nobody is served makes way for nobody", async () => {
  const went = await stepsOf(1, { steps: 5, busy: () => 1 });
  expect(went.map(({ atMs }) => atMs)).toEqual([0, 1, 2, 3, 4]);
});

test("turns that make way go on one after the other, in the order in which they came, and all end", async () => {
  const went = await stepsOf(3, { steps: 4, busy: () => 1 });
  expect(went).toHaveLength(12);
  const gaps = went.slice(1).map(({ atMs }, index) => atMs - (went[index]?.atMs ?? 0));
  expect(Math.max(...gaps)).toBe(200);
  const waits = went.filter(({ lane }) => lane === "2").map(({ atMs }) => atMs);
  expect(waits.slice(1).map((at, index) => at - (waits[index] ?? 0))).toEqual([600, 600, 600]);
});

test("a stop ends the wait of a turn that makes way", async () => {
  const went = await stepsOf(3, { steps: 4, busy: () => 1, stop: AbortSignal.abort() });
  expect(Math.max(...went.map(({ atMs }) => atMs))).toBe(3);
});

/** What is left of the deliveries of an account, and the state and reason of each of their parts. */
async function partsOf(store: Awaited<ReturnType<typeof fixture>>["store"]): Promise<readonly string[]> {
  return (await store.outbox.find({ limit: 99 })).toReversed().map(({ id, done, parts }) => {
    const states = parts.map(({ state, reason }) => (reason === null ? state : `${state} (${reason})`));
    return `${id} ${done ? "done" : "open"}: ${states.join(", ")}`;
  });
}

test("a bug in delivery fails what is open of the first answer that is not sent, and the next ones go out", async () => {
  const batches: (readonly string[])[] = [];
  const bug = new TypeError("no such thing");
  const lines: unknown[] = [];
  const log: Log = { ...silentLog, error: (fields, words) => void lines.push([words, fields]) };
  const { clock, store, start } = await fixture({
    log,
    deliver: () => async (batch) => {
      batches.push(batch.deliveries.map(({ id }) => id));
      if (batches.length > 1) {
        await store.outbox.record(batch, [
          { delivery: "third", part: 0, to: "sending", attempt: 1 },
          { delivery: "third", part: 0, to: "sent", receipt: "r" },
        ]);
        return { afterMs: 0, reason: "sent" };
      }
      await store.outbox.record(batch, [
        { delivery: "first", part: 0, to: "sending", attempt: 1 },
        { delivery: "first", part: 0, to: "sent", receipt: "r" },
        { delivery: "second", part: 0, to: "sending", attempt: 1 },
        { delivery: "second", part: 0, to: "sent", receipt: "r" },
        { delivery: "second", part: 1, to: "sending", attempt: 1 },
      ]);
      throw bug;
    },
  });
  await store.outbox.post(
    Object.entries({ first: 1, second: 3, third: 1 }).map(([id, parts]) => ({
      id,
      pool: "loopback:one",
      lane: conversation(1),
      cause: "test",
      parts: Array.from({ length: parts }, () => ({ content: "x" })),
    })),
  );
  start();
  await settle();
  await clock.advance(1_000);
  const failed = "failed (a bug in delivery: no such thing)";
  expect(await partsOf(store)).toEqual([
    "first done: sent",
    `second done: sent, ${failed}, ${failed}`,
    "third done: sent",
  ]);
  expect(batches).toEqual([["first", "second", "third"], ["third"]]);
  expect(lines).toEqual([
    [
      "work can never succeed, burying it",
      { lane: conversation(1), deliveries: ["first", "second", "third"], error: bug },
    ],
  ]);
});

test("a bug after everything was sent fails nothing and frees the conversation", async () => {
  let times = 0;
  const { clock, store, post, start } = await fixture({
    deliver: () => async (batch) => {
      times += 1;
      const [head] = batch.deliveries;
      await store.outbox.record(batch, [
        { delivery: head?.id ?? "", part: 0, to: "sending", attempt: 1 },
        { delivery: head?.id ?? "", part: 0, to: "sent", receipt: "r" },
      ]);
      throw new TypeError("no such thing");
    },
  });
  await post(1, 1);
  start();
  await settle();
  await clock.advance(1_000);
  expect([await partsOf(store), times]).toEqual([["one-1-0 done: sent"], 1]);
  expect(await store.outbox.list("loopback:one", 9)).toMatchObject([{ holder: null, atMs: null }]);
});

/**
 * A process whose sends take as long as told, and its drain: when it ended, and whether the sends were
 * aborted.
 */
async function draining(sendMs: number, more: { readonly led?: boolean; readonly isAway?: boolean } = {}) {
  const aborted: string[] = [];
  const sent: string[] = [];
  const made = await fixture({
    ...(more.led === true ? { accounts: [] } : {}),
    deliver:
      () =>
      async (batch, { signal }) => {
        await sleep(made.clock, sendMs, signal);
        if (signal.aborted) {
          aborted.push(batch.lane);
          throw signal.reason;
        }
        for (const { id } of batch.deliveries) {
          sent.push(id);
          await made.store.outbox.record(batch, [
            { delivery: id, part: 0, to: "sending", attempt: 1 },
            { delivery: id, part: 0, to: "sent", receipt: "r" },
          ]);
        }
        return { afterMs: 0, reason: "sent" };
      },
  });
  const pools = made.start();
  if (more.led === true) pools.lead("loopback:one", () => undefined);
  let endedMono: number | null = null;
  return {
    ...made,
    pools,
    aborted,
    sent,
    async drain(flushMs: number, passMs: number): Promise<number | null> {
      const beganMono = made.clock.mono();
      void pools.drain({ turnsMs: 0, flushMs }).then(() => (endedMono = made.clock.mono() - beganMono));
      for (let at = 0; at < passMs; at += 10) {
        await made.clock.advance(10);
        if (endedMono !== null) break;
      }
      await settle();
      return endedMono;
    },
  };
}

test.each([false, true])(
  "a stop waits for answers that are being sent, led by this process: %s",
  async (led) => {
    const { post, clock, aborted, sent, drain } = await draining(400, { led });
    await post(1, 1);
    await settle();
    await clock.advance(10);
    const ended = await drain(1_000, 3_000);
    expect([sent, aborted]).toEqual([["one-1-0"], []]);
    expect(ended).toBeGreaterThanOrEqual(380);
    expect(ended).toBeLessThanOrEqual(420);
  },
);

test("answers that are due and not begun get out before a stop", async () => {
  const { post, clock, sent, drain } = await draining(0);
  await post(1, 1);
  await settle();
  await clock.advance(10);
  expect(sent).toEqual(["one-1-0"]);
  await post(1, 2);
  expect(await drain(5_000, 6_000)).toBeLessThan(100);
  expect(sent).toEqual(["one-1-0", "one-2-0"]);
});

test("what waits for its time does not hold a stop up, and neither does a store that is away", async () => {
  const { clock, store, post, start } = await fixture({
    deliver: () => async () => ({ afterMs: 60_000, reason: "429" }),
  });
  await post(1, 1);
  const pools = start();
  await settle();
  await clock.advance(10);
  expect(await store.outbox.list("loopback:one", 9)).toMatchObject([{ waiting: 1, holder: null }]);
  const beganMono = clock.mono();
  await pools.drain({ turnsMs: 0, flushMs: 5_000 });
  expect(clock.mono()).toBe(beganMono);
  const away = await fixture({
    store: {
      ...store,
      outbox: { ...store.outbox, list: () => Promise.reject(new Error("away")) },
    },
  });
  await away.start().drain({ turnsMs: 0, flushMs: 5_000 });
  expect(away.clock.mono()).toBe(0);
});

test("a stop aborts what is still being sent when its time is over", async () => {
  const { post, clock, aborted, sent, drain } = await draining(60_000);
  await post(1, 1);
  await settle();
  await clock.advance(10);
  const ended = await drain(500, 5_000);
  expect([sent, aborted]).toEqual([[], [conversation(1)]]);
  expect(ended).toBeGreaterThanOrEqual(500);
  expect(ended).toBeLessThan(600);
});

test("sends of an account that was dropped have ten seconds, and a stop waits for them", async () => {
  const { post, clock, pools, aborted, drain } = await draining(60_000);
  await post(1, 1);
  await settle();
  await clock.advance(10);
  pools.serve([]);
  expect(pools.deliveriesRunning()).toBe(0);
  await clock.advance(9_000);
  expect(aborted).toEqual([]);
  expect(await drain(0, 5_000)).toBe(1_000);
  expect(aborted).toEqual([conversation(1)]);
});

test("who leads an account again is not ended by the end of its first term", async () => {
  const { clock, store, work, start } = await fixture();
  const pools = start();
  const first = pools.lead("loopback:led", () => undefined);
  const second = pools.lead("loopback:led", () => undefined);
  await first.end();
  await store.outbox.post([
    { id: "x", pool: "loopback:led", lane: conversation(9, "led"), cause: "t", parts: [{ content: "x" }] },
  ]);
  await settle();
  expect([work.length, pools.deliveriesRunning()]).toEqual([1, 1]);
  const ended = second.end();
  await clock.advance(1);
  await ended;
  expect(pools.deliveriesRunning()).toBe(0);
});

test("a turn that is buried is named by its id, its lane and its rows, and is held by this process until then", async () => {
  const lines: unknown[] = [];
  const buried: unknown[] = [];
  const holders: unknown[] = [];
  const bug = new TypeError("no such thing");
  const log: Log = { ...silentLog, error: (fields, words) => void lines.push([words, fields]) };
  const { store, rows, start } = await fixture({
    log,
    runTurn: async () => {
      holders.push((await store.turns.list(undefined, 9)).map(({ holder }) => holder));
      throw bug;
    },
    buryTurn: async (turn, error) => void buried.push([turn.lane, error]),
  });
  await rows(2, "main", 1);
  start();
  await settle();
  const lane = "agent:main:loopback:dm:main-1";
  expect([holders, buried]).toEqual([[["test"]], [[lane, bug]]]);
  expect(lines).toEqual([
    [
      "work can never succeed, burying it",
      { turn: expect.any(String) as string, lane, rows: ["main-1-0", "main-1-1"], error: bug },
    ],
  ]);
});
