import type { ResetPolicy } from "@parley/config";
import type { Clock, SessionKey } from "@parley/protocol";
import type { Store } from "@parley/store";
import { virtualClock, directMessage, groupMessage } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { beginAnew, dayIn, policyFor, spokenIn, type ResetOptions } from "../../src/receive/reset-policy.ts";
import { memoryStore } from "./store.ts";

const hourMs = 3_600_000;
const key = "agent:main:telegram:dm:5" as SessionKey;

const anew =
  (store: Pick<Store, "sessions">, clock: Pick<Clock, "now">): ResetOptions["beginAnew"] =>
  async (session) => ({ session: await beginAnew(store.sessions, session, clock.now()) });

/**
 * A session begun at `from`; says how often it began anew until each of the later times, when somebody spoke.
 */
async function epochs(
  reset: ResetPolicy,
  timeZone: string,
  from: string,
  ...times: readonly string[]
): Promise<number[]> {
  const clock = virtualClock({ startMs: Date.parse(from) });
  const store = await memoryStore(clock);
  const speak = spokenIn({
    config: { reset, resetByType: {}, resetByChannel: {} },
    timeZone,
    sessions: store.sessions,
    inbox: store.inbox,
    clock,
    beginAnew: anew(store, clock),
  });
  await speak(key, directMessage());
  const seen: number[] = [];
  for (const time of times) {
    await clock.advance(Date.parse(time) - clock.now());
    seen.push((await speak(key, directMessage())).epoch - 1);
  }
  await store.close();
  return seen;
}

describe("daily", () => {
  const at4: ResetPolicy = { mode: "daily", atHour: 4 };
  test.for([
    [
      "the hour comes",
      "UTC",
      at4,
      "2026-03-10T03:59:59Z",
      ["2026-03-10T04:00:00Z", "2026-03-10T23:59:00Z", "2026-03-11T03:59:59Z"],
      [1, 1, 1],
    ],
    [
      "days pass",
      "UTC",
      at4,
      "2026-03-10T12:00:00Z",
      ["2026-03-11T03:59:00Z", "2026-03-11T04:00:00Z", "2026-03-20T05:00:00Z"],
      [0, 1, 2],
    ],
    ["the zone is behind", "America/New_York", at4, "2026-01-10T08:59:00Z", ["2026-01-10T09:00:00Z"], [1]],
    [
      "the zone is ahead by a quarter of an hour",
      "Asia/Kathmandu",
      at4,
      "2026-01-09T22:14:00Z",
      ["2026-01-09T22:15:00Z"],
      [1],
    ],
    // Berlin, 29 March 2026: 02:00 becomes 03:00 at 01:00 UTC.
    [
      "the hour is skipped in spring",
      "Europe/Berlin",
      { mode: "daily", atHour: 2 },
      "2026-03-29T00:59:00Z",
      ["2026-03-29T01:00:00Z", "2026-03-29T20:00:00Z"],
      [1, 1],
    ],
    // Berlin, 25 October 2026: 03:00 becomes 02:00 at 01:00 UTC.
    [
      "the hour comes twice in autumn",
      "Europe/Berlin",
      { mode: "daily", atHour: 2 },
      "2026-10-24T23:59:00Z",
      ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"],
      [1, 1, 1],
    ],
    [
      "a day of 25 hours",
      "Europe/Berlin",
      at4,
      "2026-10-24T02:00:00Z",
      ["2026-10-25T02:59:00Z", "2026-10-25T03:00:00Z"],
      [0, 1],
    ],
    ["midnight", "UTC", { mode: "daily", atHour: 0 }, "2026-03-10T23:59:59Z", ["2026-03-11T00:00:00Z"], [1]],
    [
      "the year turns",
      "UTC",
      at4,
      "2026-12-31T23:00:00Z",
      ["2027-01-01T03:00:00Z", "2027-01-01T04:00:00Z"],
      [0, 1],
    ],
  ] as const)("%s, %s", async ([, timeZone, policy, from, times, expected]) => {
    expect(await epochs(policy, timeZone, from, ...times)).toEqual(expected);
  });
});

describe("after a pause", () => {
  test("as long as it says, counted from the last word", async () => {
    const idle: ResetPolicy = { mode: "idle", atHour: 4, idleMinutes: 60 };
    const times = [
      "2026-01-01T10:59:00Z",
      "2026-01-01T11:58:00Z",
      "2026-01-01T12:58:00Z",
      "2026-01-02T10:00:00Z",
    ];
    expect(await epochs(idle, "UTC", "2026-01-01T10:00:00Z", ...times)).toEqual([0, 0, 1, 2]);
  });

  test("or at the hour, whichever comes first", async () => {
    const both: ResetPolicy = { mode: "daily", atHour: 4, idleMinutes: 60 };
    const times = ["2026-01-01T04:00:00Z", "2026-01-01T04:30:00Z", "2026-01-01T05:30:00Z"];
    expect(await epochs(both, "UTC", "2026-01-01T03:30:00Z", ...times)).toEqual([1, 1, 2]);
  });

  test("heartbeats and schedules, which write the session but are not people, do not shorten it", async () => {
    const clock = virtualClock({ startMs: 0 });
    const store = await memoryStore(clock);
    const reset: ResetPolicy = { mode: "idle", atHour: 4, idleMinutes: 60 };
    const config = { reset, resetByType: {}, resetByChannel: {} };
    const speak = spokenIn({
      config,
      timeZone: "UTC",
      sessions: store.sessions,
      inbox: store.inbox,
      clock,
      beginAnew: anew(store, clock),
    });
    await speak(key, directMessage());
    for (let nth = 0; nth < 3; nth += 1) {
      await clock.advance(20 * 60_000);
      await store.sessions.patch(key, { heartbeat: nth });
    }
    expect((await speak(key, directMessage())).epoch).toBe(2);
    await store.close();
  });
});

test("never by itself when the mode is none", async () => {
  expect(
    await epochs(
      { mode: "none", atHour: 4, idleMinutes: 1 },
      "UTC",
      "2026-01-01T00:00:00Z",
      "2026-06-01T00:00:00Z",
    ),
  ).toEqual([0]);
});

test("not while messages wait or a turn runs: these end where they began", async () => {
  const clock = virtualClock({ startMs: 0 });
  const store = await memoryStore(clock);
  const config = {
    reset: { mode: "idle", atHour: 4, idleMinutes: 1 } as const,
    resetByType: {},
    resetByChannel: {},
  };
  const speak = spokenIn({
    config,
    timeZone: "UTC",
    sessions: store.sessions,
    inbox: store.inbox,
    clock,
    beginAnew: anew(store, clock),
  });
  await speak(key, directMessage());
  await store.inbox.accept([
    {
      id: "a",
      pool: "main",
      lane: key,
      conversation: "telegram:default:dm:5" as never,
      authority: "member",
      as: { kind: "work" },
      payload: "{}",
    },
  ]);
  await clock.advance(hourMs);
  expect((await speak(key, directMessage())).epoch).toBe(1);
  const turn = await store.turns.take({ pool: "main", holder: "boot", leaseMs: 60_000, maxRows: 10 });
  if ("idle" in turn) throw new Error("the lane should be due");
  await clock.advance(hourMs);
  expect((await speak(key, directMessage())).epoch).toBe(1);
  await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
  await clock.advance(hourMs);
  expect((await speak(key, directMessage())).epoch).toBe(2);
  await store.close();
});

describe("which policy", () => {
  const policy = (idleMinutes: number): ResetPolicy => ({ mode: "idle", atHour: 4, idleMinutes });
  const config: ResetOptions["config"] = {
    reset: policy(1),
    resetByType: { direct: policy(2), group: policy(3), thread: policy(4) },
    resetByChannel: { discord: policy(5) },
  };
  test.for([
    ["in private", directMessage(), 2],
    ["in a group", groupMessage(), 3],
    ["in a topic", groupMessage({ address: { thread: "7" } }), 4],
    ["in a thread under a channel", groupMessage({ address: { kind: "channel" }, parent: "9" }), 4],
    ["anywhere on a channel with its own", directMessage({ address: { channel: "discord" } }), 5],
  ] as const)("%s", ([, place, idleMinutes]) => {
    expect(policyFor(config, place).idleMinutes).toBe(idleMinutes);
    expect(policyFor({ ...config, resetByType: {}, resetByChannel: {} }, place).idleMinutes).toBe(1);
  });
});

test("days follow each other without a gap, at any hour of any zone", () => {
  for (const zone of ["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe"]) {
    const dayOf = dayIn(zone);
    for (const atHour of [0, 2, 4, 23]) {
      let last = dayOf(Date.UTC(2026, 0, 1), atHour);
      for (let atMs = Date.UTC(2026, 0, 1); atMs < Date.UTC(2027, 0, 1); atMs += 6 * hourMs) {
        const day = dayOf(atMs, atHour);
        expect(day - last === 0 || day - last === 1).toBe(true);
        last = day;
      }
    }
  }
});
