// What a channel keeps of trouble: how long it waits before it asks again, which state it shows meanwhile,
// and what stands in the log, once for each change.
import { Fault, type FaultCode, type Ids, type Log, silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { healthBoard } from "../src/health.ts";
import { backoffMs, untilDone, waitAfterMs } from "../src/persist.ts";
import { tokenWatch } from "../src/token-watch.ts";

const chance = (value: number): Ids => ({ chance: () => value }) as Ids;
/** A log that keeps every line. */
function keptLog(): { readonly log: Log; readonly lines: unknown[] } {
  const lines: unknown[] = [];
  const keep =
    (level: string) =>
    (fields: object, words: string): void =>
      void lines.push([level, fields, words]);
  const log = {
    ...silentLog,
    debug: keep("debug"),
    info: keep("info"),
    warn: keep("warn"),
    error: keep("error"),
  } as Log;
  return { log, lines };
}

test("waits double from a second to a minute, and half of each is chance", () => {
  const failures = [1, 2, 3, 4, 5, 6, 7, 8, 17, 1_000];
  expect(failures.map((each) => backoffMs(each, chance(0)))).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000,
  ]);
  expect(failures.map((each) => backoffMs(each, chance(1)))).toEqual([
    1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000,
  ]);
  expect(backoffMs(3, chance(0.5))).toBe(3_000);
});

test("the platform's own figure goes first, where it names one for its limit", () => {
  const wait = (code: FaultCode, more: object): number =>
    waitAfterMs(new Fault(code, "x", more), 3, chance(0));
  expect([
    wait("rate_limited", { retryAfterMs: 7 }),
    wait("rate_limited", { retryAfterMs: 0 }),
    wait("rate_limited", {}),
    wait("unavailable", { retryAfterMs: 7 }),
    waitAfterMs(new Error("a flaw"), 3, chance(0)),
  ]).toEqual([7, 0, 2_000, 2_000, 2_000]);
});

test("a call is made until it succeeds, with the last failure as what is shown of the account", async () => {
  const clock = virtualClock();
  const { log, lines } = keptLog();
  const health = healthBoard(clock, log);
  const ending = new AbortController();
  const made: (readonly [atMs: number, shown: string])[] = [];
  const answers = [
    new Fault("unavailable", "away"),
    new Fault("rate_limited", "slow down", { retryAfterMs: 5_000 }),
    new Fault("ambiguous", "lost"),
    "done",
  ];
  const working = untilDone(
    async () => {
      const { state, reason } = health.read();
      made.push([clock.mono(), `${state} ${reason}`]);
      const answer = answers[made.length - 1];
      if (answer instanceof Fault) throw answer;
      return answer;
    },
    { clock, ids: chance(0), health, signal: ending.signal },
  );
  await clock.advance(60_000);
  expect(await working).toBe("done");
  expect(made).toEqual([
    [0, "starting undefined"],
    [500, "degraded away"],
    [5_500, "degraded slow down"],
    [7_500, "degraded lost"],
  ]);
  expect(lines).toEqual([["warn", { state: "degraded", reason: "away" }, "channel is in trouble"]]);
});

test("what is denied is asked every ten minutes; what is no Fault is a flaw and thrown; an end ends the waiting", async () => {
  const clock = virtualClock();
  const health = healthBoard(clock, silentLog);
  const ending = new AbortController();
  const persistence = { clock, ids: chance(0), health, signal: ending.signal };
  let calls = 0;
  const failing = (error: Error) => (): Promise<never> => {
    calls += 1;
    return Promise.reject(error);
  };
  const denied = new AbortController();
  const refused = untilDone(failing(new Fault("denied", "no such bot")), {
    ...persistence,
    signal: denied.signal,
  });
  await clock.advance(599_999);
  expect([calls, health.read()]).toEqual([1, { state: "down", reason: "no such bot" }]);
  await clock.advance(1);
  expect(calls).toBe(2);
  denied.abort();
  expect(await refused).toBeNull();
  calls = 1;
  const flaw = new TypeError("a flaw");
  await expect(untilDone(failing(flaw), persistence)).rejects.toBe(flaw);
  const working = untilDone(failing(new Fault("unavailable", "away")), persistence);
  await clock.advance(1_600);
  expect(calls).toBe(5);
  ending.abort();
  expect(await working).toBeNull();
  await clock.advance(600_000);
  expect([calls, clock.armed()]).toEqual([5, 0]);
  expect(await untilDone(failing(flaw), persistence)).toBeNull();
  // An answer that comes with the end says nothing of the account any more.
  const late = new AbortController();
  const ended = untilDone(
    async () => {
      late.abort();
      throw new Fault("denied", "too late");
    },
    { ...persistence, signal: late.signal },
  );
  expect([await ended, health.read().reason]).toEqual([null, "away"]);
});

test("the account's state is told with its reason, and each change of it is one line in the log", () => {
  const clock = virtualClock({ startMs: 1_000 });
  const { log, lines } = keptLog();
  const health = healthBoard(clock, log);
  expect(health.read()).toEqual({ state: "starting" });
  health.set("degraded", "away");
  health.set("degraded", "still away");
  expect(health.read()).toEqual({ state: "degraded", reason: "still away" });
  health.inboundCompleted();
  health.set("ok");
  health.set("ok");
  clock.jumpWall(500);
  expect(health.read()).toEqual({ state: "ok", lastInboundAtMs: 1_000 });
  health.inboundCompleted();
  health.set("down", "refused");
  health.set("stopped");
  expect(health.read()).toEqual({ state: "stopped", lastInboundAtMs: 1_500 });
  expect(lines).toEqual([
    ["warn", { state: "degraded", reason: "away" }, "channel is in trouble"],
    ["info", { state: "ok" }, "channel changed state"],
    ["warn", { state: "down", reason: "refused" }, "channel is in trouble"],
    ["info", { state: "stopped" }, "channel changed state"],
  ]);
});

test("a refused token takes the account down and is tried again every so often, until it is taken", async () => {
  const clock = virtualClock();
  const { log, lines } = keptLog();
  const ending = new AbortController();
  const asked: number[] = [];
  const error = new Error("refused again");
  const watch = tokenWatch({
    ask: (signal) => {
      expect(signal).toBe(ending.signal);
      asked.push(clock.mono());
      return asked.length < 3 ? Promise.reject(error) : Promise.resolve(watch.accepted());
    },
    everyMs: 100,
    clock,
    log,
    signal: ending.signal,
  });
  const over = (): unknown[] =>
    (["starting", "ok", "degraded", "down", "stopped"] as const).map((state) => {
      const { state: shown, reason } = watch.over({ state, reason: "own", lastInboundAtMs: 7 });
      return `${shown}: ${reason}`;
    });
  const own = ["starting: own", "ok: own", "degraded: own", "down: own", "stopped: own"];
  expect(over()).toEqual(own);
  watch.accepted();
  await clock.advance(1_000);
  expect([asked, lines]).toEqual([[], []]);
  watch.refused("401 one");
  watch.refused("401 two");
  expect(watch.over({ state: "ok", lastInboundAtMs: 7 })).toEqual({
    state: "down",
    reason: "401 two",
    lastInboundAtMs: 7,
  });
  expect(over()).toEqual(["down: 401 two", "down: 401 two", "down: 401 two", "down: own", "stopped: own"]);
  await clock.advance(99);
  expect(asked).toEqual([]);
  await clock.advance(1_000);
  expect(asked).toEqual([1_100, 1_200, 1_300]);
  expect(over()).toEqual(own);
  watch.refused("401 three");
  await clock.advance(100);
  expect(asked).toHaveLength(4);
  watch.refused("401 four");
  await clock.advance(50);
  watch.accepted();
  await clock.advance(1_000);
  expect(asked).toHaveLength(4);
  watch.refused("401 five");
  ending.abort();
  await clock.advance(1_000);
  expect([asked.length, clock.armed()]).toEqual([4, 0]);
  const refused = (reason: string): unknown => [
    "error",
    { reason },
    "the token is refused: answers wait until it is right again",
  ];
  const again = ["debug", { error }, "the token was tried again"];
  const taken = ["info", {}, "the token is taken again"];
  expect(lines).toEqual([
    refused("401 one"),
    again,
    again,
    taken,
    refused("401 three"),
    taken,
    refused("401 four"),
    taken,
    refused("401 five"),
  ]);
});
