// The queue of incoming events: its order, its bounds, and whose trouble it clears.
import { type ChannelEvent, Fault, silentLog } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import type { Dispatch } from "../../src/discord/connection.ts";
import { intake } from "../../src/discord/intake.ts";
import { healthBoard } from "../../src/health.ts";

const dispatch = (nth: number): Dispatch => ({
  event: "MESSAGE_CREATE",
  body: { nth },
  sequence: nth,
  session: { id: "s", resumeUrl: "" },
});

function queue(receive: (batch: readonly ChannelEvent[]) => Promise<void>) {
  const clock = virtualClock();
  const health = healthBoard(clock, silentLog);
  const accepted: number[][] = [];
  const numbers = (batch: readonly Dispatch[]): number[] => batch.map(({ sequence }) => sequence ?? -1);
  const made = intake({
    read: async ({ sequence }) => [
      { event: { kind: "unreadable", id: `e${sequence}`, channel: "d", account: "a", raw: "", reason: "r" } },
    ],
    receive,
    onAccepted: async ({ dispatches }) => void accepted.push(numbers(dispatches)),
    health,
    clock,
    ids: seededIds(1),
    log: silentLog,
    signal: new AbortController().signal,
  });
  return { made, clock, health, accepted };
}

test("events are taken fifty at a time, in order, those of a gap before all that waits", async () => {
  const { made, accepted } = queue(async () => {});
  const release = made.hold();
  for (let nth = 1; nth <= 120; nth += 1) expect(made.push(dispatch(nth))).toBe(true);
  made.unshift([dispatch(-2), dispatch(-1)]);
  release();
  release();
  await made.idle();
  expect(accepted.map(({ length }) => length)).toEqual([50, 50, 22]);
  expect(accepted.flat()).toEqual([-2, -1, ...Array.from({ length: 120 }, (_, nth) => nth + 1)]);
});

test("the five-thousandth event that waits is the last one that is taken, and there is room again at five hundred", async () => {
  const { made } = queue(async () => {});
  const release = made.hold();
  for (let nth = 1; nth < 5_000; nth += 1) made.push(dispatch(nth));
  expect(made.push(dispatch(5_000))).toBe(false);
  let hasRoom = false;
  const told = made.room().then(() => (hasRoom = true));
  await Promise.resolve();
  expect(hasRoom).toBe(false);
  release();
  await told;
  await made.idle();
});

test("what could not be accepted comes again in its order and is said in health, which another's trouble keeps", async () => {
  let refuses = 1;
  const { made, clock, health, accepted } = queue(async () => {
    if (refuses-- > 0) throw new Fault("unavailable", "the store is closed");
  });
  health.set("degraded", "of somebody else");
  refuses = 0;
  made.push(dispatch(1));
  await made.idle();
  expect(health.read()).toMatchObject({ state: "degraded", reason: "of somebody else" });
  health.set("ok");
  refuses = 1;
  made.push(dispatch(2));
  made.push(dispatch(3));
  await expect.poll(() => health.read().reason).toBe("events could not be accepted: the store is closed");
  await clock.advance(60_000);
  await made.idle();
  expect(health.read().state).toBe("ok");
  expect(health.read().lastInboundAtMs).toBeLessThan(clock.now());
  expect(accepted.flat()).toEqual([1, 2, 3]);
});
