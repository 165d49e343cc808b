// What the lane runner makes of work that failed: when it is tried again, what is buried, and what is said of
// it.
import { expect, onTestFinished, test } from "vitest";
import { Fault, type Log } from "@parley/protocol";
import type { Idle, Lease, Release } from "@parley/store";
import { virtualClock, seededIds } from "@parley/testkit";
import { runLanes, type LaneRunnerOptions, type WorkEnd } from "../src/index.ts";

const again: WorkEnd = { afterMs: 0, reason: "again" };

/** A pool with one lane that can be taken whenever it is not held; every answer of the store is at hand. */
function stage(
  work: (nth: number, signal: AbortSignal) => Promise<WorkEnd>,
  more: Partial<LaneRunnerOptions<Lease>> = {},
) {
  const clock = virtualClock();
  const told: string[] = [];
  const say = (text: string): void => void told.push(`${clock.mono()} ${text}`);
  const line =
    (level: string) =>
    (fields: object, message: string): void => {
      const { lane: _lane, error, ...rest } = fields as { lane?: string; error?: Error };
      say(
        `${level}: ${message} ${JSON.stringify({ ...rest, ...(error === undefined ? {} : { error: String(error) }) })}`,
      );
    };
  const log = {
    ...Object.fromEntries(["info", "warn", "error"].map((level) => [level, line(level)])),
    debug() {},
  };
  let [token, held, dueAtMs, nth] = [0, false, clock.now(), 0];
  let takes: () => Promise<void> = async () => {};
  let releases: () => Promise<void> = async () => {};
  const wakers = new Set<(pool: string) => boolean>();
  const runner = runLanes<Lease>({
    lanes: {
      async take({ holder }): Promise<Lease | Idle> {
        await takes();
        if (held || dueAtMs > clock.now()) return { idle: true, nextAtMs: held ? null : dueAtMs };
        held = true;
        return { lane: "a", token: (token += 1), holder };
      },
      async release(_lease, how: Release) {
        say(`release ${JSON.stringify(how)}`);
        await releases();
        [held, dueAtMs] = [false, clock.now() + how.afterMs];
      },
      extend: async () => 0,
      list: async () => [],
    },
    pool: "main",
    holder: "me",
    concurrency: 4,
    leaseMs: 30_000,
    maxRows: 10,
    clock,
    ids: { ...seededIds(1), chance: () => 0 },
    log: log as unknown as Log,
    onReady(wake) {
      wakers.add(wake);
      return () => void wakers.delete(wake);
    },
    work: (_lease, { signal }) => work((nth += 1), signal),
    bury: async (lease, error) => {
      say(`bury ${lease.token} ${String(error)}`);
      [held, dueAtMs] = [false, Infinity];
    },
    ...more,
  });
  onTestFinished(async () => {
    const drained = runner.drain(0);
    await clock.advance(60_000);
    await drained;
    expect(wakers.size).toBe(0);
    if (runner.running() === 0) expect(clock.armed()).toBe(0);
  });
  return {
    clock,
    runner,
    since: (): readonly string[] => told.splice(0),
    taking: (how: typeof takes) => void (takes = how),
    releasing: (how: typeof releases) => void (releases = how),
  };
}

const forever = (): Promise<never> => new Promise(() => {});
const failing =
  (errors: readonly (Error | null)[]) =>
  async (nth: number): Promise<WorkEnd> => {
    const error = errors[nth - 1];
    if (error === undefined) return { ...again, afterMs: 1e9 };
    if (error !== null) throw error;
    return again;
  };

const back = (code: string, reason: string, afterMs: number): string =>
  `warn: work given back, to be tried again ${JSON.stringify({ code, reason, afterMs })}`;
const released = (afterMs: number, reason: string): string =>
  `release ${JSON.stringify({ afterMs, reason, refund: true })}`;

test("what may pass is tried again, each time twice as late; a success begins anew", async () => {
  const away = new Fault("unavailable", "away");
  const { clock, since } = stage(failing([away, away, new Fault("ambiguous", "lost"), null, away]));
  await clock.advance(5_000);
  expect(since()).toEqual([
    `0 ${back("unavailable", "away", 500)}`,
    `0 ${released(500, "away")}`,
    `500 ${back("unavailable", "away", 1_000)}`,
    `500 ${released(1_000, "away")}`,
    `1500 ${back("ambiguous", "lost", 2_000)}`,
    `1500 ${released(2_000, "lost")}`,
    `3500 release ${JSON.stringify(again)}`,
    `3500 ${back("unavailable", "away", 500)}`,
    `3500 ${released(500, "away")}`,
    `4000 release ${JSON.stringify({ ...again, afterMs: 1e9 })}`,
  ]);
});

test("it waits as long as the other side asks, and no shorter than it would by itself; an abort waits for nothing", async () => {
  const limited = (retryAfterMs: number) => new Fault("rate_limited", "slow", { retryAfterMs });
  const { clock, since } = stage(
    failing([limited(100), limited(3_000), new Fault("aborted", "stop"), limited(1)]),
  );
  await clock.advance(9_000);
  expect(since().filter((text) => text.includes(" release"))).toEqual([
    `0 ${released(500, "slow")}`,
    `500 ${released(3_000, "slow")}`,
    `3500 ${released(0, "stop")}`,
    `3500 ${released(2_000, "slow")}`,
    `5500 release ${JSON.stringify({ ...again, afterMs: 1e9 })}`,
  ]);
});

test.each([
  new Fault("invalid", "no"),
  new Fault("unsupported", "no"),
  new Fault("denied", "no"),
  new Fault("missing", "no"),
  new TypeError("no"),
])("%s is buried and not given back", async (error) => {
  const { clock, since } = stage(failing([error]));
  await clock.advance(5_000);
  expect(since()).toEqual([
    `0 error: work can never succeed, burying it ${JSON.stringify({ error: String(error) })}`,
    `0 bury 1 ${String(error)}`,
  ]);
});

test("what cannot be buried is given back for a minute, as no death of it", async () => {
  const { clock, since } = stage(failing([new TypeError("no")]), {
    bury: () => Promise.reject(new Error("no disk")),
  });
  await clock.advance(10);
  expect(since().slice(1)).toEqual([
    `0 error: could not bury, trying again later ${JSON.stringify({ error: "Error: no disk" })}`,
    `0 ${released(60_000, "it could not be buried")}`,
  ]);
});

test("a lost lease is told as that of a holder who lives, before it is given back for a moment", async () => {
  const lost: string[] = [];
  const { clock, since } = stage(failing([new Fault("conflict", "too late")]), {
    about: ({ lane }) => ({ lane, turn: "t" }),
    async lost({ lane, token }) {
      lost.push(`${lane} ${token}`);
      throw new Error("no disk");
    },
  });
  await clock.advance(10);
  expect([lost, since()]).toEqual([
    ["a 1"],
    [
      `0 info: lease lost or a write too late, leaving the lane to its next holder ${JSON.stringify({ turn: "t", token: 1, reason: "too late" })}`,
      `0 warn: could not tell that nobody died with the lease ${JSON.stringify({ turn: "t", error: "Error: no disk" })}`,
      `0 ${released(500, "too late")}`,
    ],
  ]);
});

test("a lane that cannot be given back is given back again, while that may pass", async () => {
  const { clock, since, releasing } = stage(failing([null]));
  let left = 2;
  releasing(async () => {
    if ((left -= 1) >= 0) throw new Fault("unavailable", "full");
  });
  await clock.advance(1_000);
  const how = JSON.stringify(again);
  expect(since().slice(0, 3)).toEqual([`0 release ${how}`, `500 release ${how}`, `1000 release ${how}`]);
});

test.each([new Fault("conflict", "lost"), new TypeError("bug")])(
  "a lane that cannot be given back for %s is left to the end of its lease",
  async (error) => {
    const { clock, since, releasing } = stage(failing([null]));
    releasing(() => Promise.reject(error));
    await clock.advance(5_000);
    expect(since()).toEqual([
      `0 release ${JSON.stringify(again)}`,
      `0 info: could not give the lane back, it frees itself when the lease ends ${JSON.stringify({ error: String(error) })}`,
    ]);
  },
);

test("who stops does not try again to give a lane back", async () => {
  const { clock, runner, since, releasing } = stage(
    (_nth, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  releasing(() => Promise.reject(new Fault("unavailable", "full")));
  await clock.advance(10);
  const drained = runner.drain(1_000);
  await clock.advance(1_000);
  await drained;
  expect(since().map((text) => text.split(" ").slice(0, 3).join(" "))).toEqual([
    "1010 warn: work",
    '1010 release {"afterMs":0,"reason":"the',
    "1010 info: could",
  ]);
});

test("a store that is away is told once, and once more when it goes away again", async () => {
  const { clock, since, taking } = stage(failing([]));
  const away = (): Promise<void> => Promise.reject(new Fault("unavailable", "away"));
  await clock.advance(2_000);
  since();
  taking(away);
  await clock.advance(8_000);
  const line = `warn: could not take work, trying again every two seconds ${JSON.stringify({ pool: "main", error: "Fault: away" })}`;
  expect(since()).toEqual([`4000 ${line}`]);
  taking(async () => {});
  await clock.advance(2_000);
  taking(away);
  await clock.advance(4_000);
  expect(since()).toEqual([`14000 ${line}`]);
});

test("work that ignores its abort is left behind ten seconds after the budget, and that is told", async () => {
  const { clock, runner, since } = stage(forever);
  await clock.advance(10);
  let isOver = false;
  const drained = runner.drain(5_000).then(() => (isOver = true));
  await clock.advance(14_999);
  expect([isOver, since()]).toEqual([false, []]);
  await clock.advance(1);
  await drained;
  expect(since()).toEqual([
    `15010 error: work ignored its abort and is left behind ${JSON.stringify({ pool: "main", left: 1 })}`,
  ]);
});

test("who makes way takes one lane at a time, and not before its time", async () => {
  let leftMs: number | null = 300;
  let [taking, most, began] = [0, 0, 0];
  const {
    clock,
    runner,
    taking: takes,
  } = stage(forever, {
    pace: { leftMs: () => leftMs, began: () => void (began += 1) },
  });
  takes(async () => {
    most = Math.max(most, (taking += 1));
    await new Promise((resolve) => setImmediate(resolve));
    taking -= 1;
  });
  await clock.advance(299);
  expect([most, began]).toEqual([0, 0]);
  leftMs = 0;
  await clock.advance(1);
  for (let hint = 0; hint < 4; hint += 1) runner.wake();
  await clock.advance(10);
  expect([most, began, runner.running()]).toEqual([1, 1, 1]);
});

test("a runner that stops while it makes way begins nothing", async () => {
  let looks = 0;
  const { clock, runner } = stage(forever, {
    pace: { leftMs: () => ((looks += 1), 300), began: () => {} },
  });
  await clock.advance(10);
  await runner.drain(0);
  const before = looks;
  await clock.advance(5_000);
  expect([looks, clock.armed()]).toEqual([before, 0]);
});
