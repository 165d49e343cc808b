// The lane runner over the real embedded store, under a virtual clock.
import { describe, expect, test } from "vitest";
import { Fault, conversationKey, silentLog, type Address, type SessionKey } from "@parley/protocol";
import { sqliteStore, type NewRow, type Store, type Turn } from "@parley/store";
import { seededIds, virtualClock } from "@parley/testkit";
import { runLanes, type LeaseHandle, type LaneRunnerOptions, type WorkEnd } from "../src/index.ts";

const address = (peer: string): Address => ({ channel: "loopback", account: "default", kind: "dm", peer });
const lane = (peer: string): SessionKey => `agent:main:loopback:dm:${peer}` as SessionKey;

async function fixture() {
  const clock = virtualClock();
  const ids = seededIds(1);
  const store: Store = await sqliteStore({
    path: ":memory:",
    clock,
    log: silentLog,
    bootId: "test",
    onFatal: (error) => expect.unreachable(String(error)),
  });
  let nth = 0;
  const row = (peer: string): NewRow => ({
    id: `row-${++nth}`,
    pool: "main",
    lane: lane(peer),
    conversation: conversationKey(address(peer)),
    authority: "owner",
    as: { kind: "work" },
    payload: "{}",
  });
  const run = (
    work: (turn: Turn, held: LeaseHandle) => Promise<WorkEnd>,
    more: Partial<LaneRunnerOptions<Turn>> = {},
  ) =>
    runLanes<Turn>({
      lanes: store.turns,
      pool: "main",
      holder: "test",
      concurrency: 4,
      leaseMs: 30_000,
      maxRows: 10,
      clock,
      ids,
      log: silentLog,
      onReady: store.onReady,
      work,
      bury: async (turn) =>
        void (await store.turns.commit(turn, turn.id, { outcome: "dead", reason: "bug", entries: [] })),
      ...more,
    });
  const answer = async (turn: Turn): Promise<WorkEnd> => {
    await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
    return { settled: true };
  };
  return { clock, store, row, run, answer };
}

/** Lets promises and the store's group commits settle; no time passes. */
async function settle(): Promise<void> {
  for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe("the lane runner", () => {
  test("comes to rest after hints that found it looking: none of them keeps it asking for ever", async () => {
    const { store, row, run } = await fixture();
    let takes = 0;
    const turns = {
      ...store.turns,
      take: (want: Parameters<typeof store.turns.take>[0]) => {
        takes += 1;
        return store.turns.take(want);
      },
    };
    const runner = run(() => new Promise(() => {}), { lanes: turns, concurrency: 16 });
    await store.inbox.accept(["a", "b", "c", "d"].map(row));
    for (let hints = 0; hints < 8; hints += 1) runner.wake();
    await settle();
    expect(runner.running()).toBe(4);
    const before = takes;
    await settle();
    expect(takes).toBe(before);
  });

  test("takes what is accepted and runs lanes together, each by one holder", async () => {
    const { store, row, run, answer } = await fixture();
    const open = new Map<string, () => void>();
    const order: string[] = [];
    const runner = run(async (turn) => {
      order.push(turn.lane);
      await new Promise<void>((resolve) => open.set(turn.lane, resolve));
      return answer(turn);
    });
    await store.inbox.accept([row("a"), row("b")]);
    await store.inbox.accept([row("a")]);
    await settle();
    expect(order.toSorted()).toEqual([lane("a"), lane("b")]);
    expect(runner.running()).toBe(2);
    open.get(lane("a"))?.();
    await settle();
    expect(order.filter((each) => each === lane("a")).length).toBeGreaterThan(0);
    for (const go of open.values()) go();
    await settle();
    expect(await store.inbox.find({ state: "waiting", limit: 10 })).toEqual([]);
    for (const go of open.values()) go();
    await runner.drain(0);
    await store.close();
  });

  test("never holds more than its concurrency", async () => {
    const { store, row, run, answer } = await fixture();
    let most = 0;
    let now = 0;
    const runner = run(
      async (turn) => {
        most = Math.max(most, ++now);
        await settle();
        now -= 1;
        return answer(turn);
      },
      { concurrency: 3 },
    );
    await store.inbox.accept(Array.from({ length: 12 }, (_, n) => row(`p${n}`)));
    for (
      let round = 0;
      round < 20 && (await store.inbox.find({ state: "ended", limit: 20 })).length < 12;
      round += 1
    )
      await settle();
    expect(most).toBe(3);
    expect(await store.inbox.find({ state: "ended", limit: 20 })).toHaveLength(12);
    await runner.drain(0);
    await store.close();
  });

  test("a passing failure is tried again after a growing wait and costs no strike", async () => {
    const { clock, store, row, run, answer } = await fixture();
    const attempts: { atMs: number; attempt: number }[] = [];
    const startMs = clock.now();
    const runner = run(async (turn) => {
      attempts.push({ atMs: clock.now() - startMs, attempt: turn.attempt });
      if (attempts.length < 3) throw new Fault("unavailable", "not now");
      return answer(turn);
    });
    await store.inbox.accept([row("a")]);
    await settle();
    expect(attempts).toHaveLength(1);
    for (let second = 0; second < 4; second += 1) {
      await clock.advance(1_000);
      await settle();
    }
    expect(attempts).toHaveLength(3);
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    await runner.drain(0);
    await store.close();
  });

  test.each([
    ["a bug", new TypeError("undefined is not a function")],
    ["what no repeat can heal", new Fault("invalid", "this row is of a later version")],
  ])("%s is buried at once and the lane goes on", async (_what, error) => {
    const { store, row, run, answer } = await fixture();
    let calls = 0;
    const runner = run(async (turn) => {
      calls += 1;
      if (calls === 1) throw error;
      return answer(turn);
    });
    const first = row("a");
    await store.inbox.accept([first]);
    await settle();
    await store.inbox.accept([row("a")]);
    await settle();
    expect((await store.inbox.find({ id: first.id, limit: 1 }))[0]).toMatchObject({
      outcome: "dead",
      reason: "bug",
    });
    expect(calls).toBe(2);
    await runner.drain(0);
    await store.close();
  });

  test("a lease is renewed while the work goes on, and lost work is aborted", async () => {
    const { clock, store, row, run } = await fixture();
    const signals: AbortSignal[] = [];
    const runner = run(async (turn, held) => {
      if (turn.stop !== null) {
        await store.turns.commit(turn, turn.id, { outcome: "stopped", entries: [] });
        return { settled: true };
      }
      signals.push(held.signal);
      await new Promise<void>((resolve) => held.signal.addEventListener("abort", () => resolve()));
      throw held.signal.reason;
    });
    const accepted = row("a");
    await store.inbox.accept([accepted]);
    await settle();
    for (let minute = 0; minute < 3; minute += 1) {
      await clock.advance(30_000);
      await settle();
    }
    expect(signals.map((signal) => signal.aborted)).toEqual([false]);
    await store.inbox.stop(accepted.lane, { turn: "open", reason: "test" });
    await clock.advance(10_000);
    await settle();
    expect(signals.map((signal) => signal.aborted)).toEqual([true]);
    expect((await store.inbox.find({ id: accepted.id, limit: 1 }))[0]).toMatchObject({ outcome: "stopped" });
    await runner.drain(0);
    await store.close();
  });

  test("covering a deadline makes the lease outlive it", async () => {
    const { clock, store, row, run, answer } = await fixture();
    let expiresAtMs = 0;
    const runner = run(async (turn, held) => {
      await held.cover(600_000);
      expiresAtMs = (await store.turns.list("main", 1))[0]?.atMs ?? 0;
      return answer(turn);
    });
    await store.inbox.accept([row("a")]);
    await settle();
    expect(expiresAtMs - clock.now()).toBeGreaterThanOrEqual(600_000);
    await runner.drain(0);
    await store.close();
  });

  test.each(["by itself", "when asked"])(
    "a covered lease is renewed %s, and never ends sooner for it",
    async (how) => {
      const { clock, store, row, run, answer } = await fixture();
      const ends: number[] = [];
      const look = async (): Promise<void> =>
        void ends.push(((await store.turns.list("main", 1))[0]?.atMs ?? 0) - startMs);
      const startMs = clock.now();
      let done = (): void => {};
      let renew: () => Promise<number> = async () => 0;
      const runner = run(async (turn, held) => {
        renew = held.renew;
        await held.cover(600_000);
        await look();
        await new Promise<void>((resolve) => (done = resolve));
        return answer(turn);
      });
      await store.inbox.accept([row("a")]);
      await settle();
      for (const ms of [1, 30_000, 300_000, 300_000, 90_000]) {
        await clock.advance(ms);
        if (how === "when asked") await renew();
        await settle();
        await look();
      }
      expect(ends).toEqual(ends.toSorted((a, b) => a - b));
      // The cover is over: renewals go on from now.
      expect(ends.at(-1)).toBeGreaterThan(720_001);
      expect(runner.running()).toBe(1);
      done();
      await settle();
      expect(await store.inbox.find({ state: "ended", limit: 9 })).toHaveLength(1);
      await runner.drain(0);
      await store.close();
    },
  );

  test("draining waits for running work, aborts it after the budget and gives it back without a strike", async () => {
    const { clock, store, row, run } = await fixture();
    const runner = run(async (_turn, held) => {
      await new Promise<void>((resolve) => held.signal.addEventListener("abort", () => resolve()));
      throw held.signal.reason;
    });
    await store.inbox.accept([row("a")]);
    await settle();
    const drained = runner.drain(5_000);
    await settle();
    expect(runner.running()).toBe(1);
    await clock.advance(5_000);
    await drained;
    expect(runner.running()).toBe(0);
    const again = await store.turns.take({ pool: "main", holder: "next", leaseMs: 1_000, maxRows: 1 });
    expect(again).toMatchObject({ attempt: 1 });
    await store.close();
  });

  test("draining waits for what a take under way brings, and aborts that after the budget too", async () => {
    const { clock, store, row, run } = await fixture();
    let answered = (): void => {};
    const slow = {
      ...store.turns,
      take: async (want: Parameters<typeof store.turns.take>[0]) => {
        const found = await store.turns.take(want);
        if (!("idle" in found)) await new Promise<void>((resolve) => (answered = resolve));
        return found;
      },
    };
    const runner = run(
      async (_turn, held) => {
        await new Promise<void>((resolve) => held.signal.addEventListener("abort", () => resolve()));
        throw held.signal.reason;
      },
      { lanes: slow },
    );
    await store.inbox.accept([row("a")]);
    await settle();
    let isDrained = false;
    const drained = runner.drain(5_000).then(() => (isDrained = true));
    await settle();
    expect([runner.running(), isDrained]).toEqual([0, false]);
    answered();
    await settle();
    expect([runner.running(), isDrained]).toEqual([1, false]);
    await clock.advance(4_999);
    await settle();
    expect([runner.running(), isDrained]).toEqual([1, false]);
    await clock.advance(1);
    await drained;
    expect(
      await store.turns.take({ pool: "main", holder: "next", leaseMs: 1_000, maxRows: 1 }),
    ).toMatchObject({
      attempt: 1,
    });
    await store.close();
  });

  test("a lease that the store cannot renew is kept for its whole time, then given up; an answer in between keeps it", async () => {
    const { clock, store, row, run } = await fixture();
    let isAway = true;
    const away = {
      ...store.turns,
      extend: (...args: Parameters<typeof store.turns.extend>) =>
        isAway ? Promise.reject(new Fault("unavailable", "the store is away")) : store.turns.extend(...args),
    };
    const reasons: unknown[] = [];
    const runner = run(
      async (_turn, held) => {
        await new Promise<void>((resolve) => held.signal.addEventListener("abort", () => resolve()));
        reasons.push(held.signal.reason);
        throw held.signal.reason;
      },
      { lanes: away },
    );
    await store.inbox.accept([row("a")]);
    await settle();
    const pass = async (ms: number): Promise<void> => {
      await clock.advance(ms);
      await settle();
    };
    await pass(10_000);
    isAway = false;
    await pass(10_000);
    isAway = true;
    // Renewed at the 20th second: the lease lasts until the 50th.
    await pass(10_000);
    await pass(10_000);
    await pass(9_999);
    expect([runner.running(), reasons]).toEqual([1, []]);
    await pass(1);
    expect(reasons).toMatchObject([
      {
        code: "conflict",
        message: expect.stringContaining("ran out while the store did not answer") as string,
      },
    ]);
    const drained = runner.drain(0);
    await pass(1);
    await drained;
    await store.close();
  });

  test("a write that was too late while the lease still holds is tried again soon, not when the lease ends", async () => {
    const { clock, store, row, run, answer } = await fixture();
    let tries = 0;
    const runner = run(async (turn, held) => {
      tries += 1;
      if (tries > 1) return answer(turn);
      await held.cover(600_000);
      throw new Fault("conflict", "the cell is not at version 1 any more");
    });
    const accepted = row("a");
    await store.inbox.accept([accepted]);
    await settle();
    await clock.advance(1_000);
    await settle();
    expect(tries).toBe(2);
    expect((await store.inbox.find({ id: accepted.id, limit: 1 }))[0]).toMatchObject({ outcome: "answered" });
    await runner.drain(0);
    await store.close();
  });

  test("a lost hint costs seconds, never the message", async () => {
    const { clock, store, row, run, answer } = await fixture();
    const runner = run(answer, { onReady: () => () => {} });
    await settle();
    const accepted = row("a");
    await store.inbox.accept([accepted]);
    await settle();
    await clock.advance(2_000);
    await settle();
    expect((await store.inbox.find({ id: accepted.id, limit: 1 }))[0]).toMatchObject({ outcome: "answered" });
    await runner.drain(0);
    await store.close();
  });
});

test("hints bring at most four looks at once, and an idle runner looks every two seconds, once", async () => {
  const { clock, run } = await fixture();
  let [looks, now, most] = [0, 0, 0];
  const lanes = {
    async take() {
      looks += 1;
      now += 1;
      most = Math.max(most, now);
      await settle();
      now -= 1;
      return { idle: true, nextAtMs: null };
    },
  } as never;
  const runner = run(() => new Promise(() => {}), { lanes, concurrency: 16 });
  for (let hints = 0; hints < 8; hints += 1) expect(runner.wake()).toBe(true);
  for (let round = 0; round < 5; round += 1) await settle();
  expect(most).toBe(4);
  for (let round = 0; round < 3; round += 1) {
    const before = looks;
    await clock.advance(1_999);
    expect(looks).toBe(before);
    await clock.advance(1);
    await settle();
    await settle();
    expect(looks).toBe(before + 1);
  }
  await runner.drain(0);
  expect(runner.wake()).toBe(false);
});
