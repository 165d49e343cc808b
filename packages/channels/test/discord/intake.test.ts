// The queue of incoming events: its order, its bounds, and whose trouble it clears.
import { type ChannelEvent, Fault, type Log, silentLog } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import type { Dispatch } from "../../src/discord/connection.ts";
import { type Accepted, intake } from "../../src/discord/intake.ts";
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
  const { made, accepted } = queue(async () => {});
  const release = made.hold();
  for (let nth = 1; nth < 5_000; nth += 1) made.push(dispatch(nth));
  expect(made.push(dispatch(5_000))).toBe(false);
  let takenAtRoom: number | null = null;
  const told = made.room().then(() => (takenAtRoom = accepted.flat().length));
  await Promise.resolve();
  expect(takenAtRoom).toBeNull();
  release();
  await told;
  await made.idle();
  expect(takenAtRoom).toBe(4_500);
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

test("what was read is handed over whole, what is refused is told, and each failure is written down", async () => {
  const clock = virtualClock({ startMs: 1_000 });
  const lines: unknown[] = [];
  const log = {
    ...silentLog,
    warn: (fields: object, words: string) => void lines.push([fields, words]),
  } as Log;
  const health = healthBoard(clock, silentLog);
  const ending = new AbortController();
  const event = (id: string): ChannelEvent => ({
    kind: "unreadable",
    id,
    channel: "d",
    account: "a",
    raw: "",
    reason: "r",
  });
  const received: unknown[] = [];
  const accepted: Accepted[] = [];
  const answers: (Error | { readonly refused: readonly string[] } | undefined)[] = [];
  const notes: Error[] = [];
  const made = intake({
    // The second event says nothing, the third reveals another.
    read: async ({ sequence }) =>
      sequence === 2
        ? [{ event: null, hidden: true }]
        : [{ event: event(`e${sequence}`) }, ...(sequence === 3 ? [{ event: event("missed") }] : [])],
    receive: async (batch) => {
      received.push(batch.map(({ id }) => id));
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
    onAccepted: async (batch) => {
      accepted.push(batch);
      const error = notes.shift();
      if (error !== undefined) throw error;
    },
    health,
    clock,
    ids: { ...seededIds(1), chance: () => 0 },
    log,
    signal: ending.signal,
  });
  const release = made.hold();
  for (const nth of [1, 2, 3]) made.push(dispatch(nth));
  const away = new Fault("unavailable", "the store is away");
  const full = new Error("the disk is full");
  answers.push(away, full, { refused: ["e3"] });
  const unnoted = new Error("no note");
  notes.push(unnoted);
  release();
  await clock.advance(499);
  expect(health.read()).toEqual({
    state: "degraded",
    reason: "events could not be accepted: the store is away",
  });
  expect(lines).toEqual([]);
  await clock.advance(1);
  expect(health.read().reason).toBe("events could not be accepted: the disk is full");
  await clock.advance(999);
  expect(received).toHaveLength(2);
  await clock.advance(1);
  await made.idle();
  expect(received).toEqual([
    ["e1", "e3", "missed"],
    ["e1", "e3", "missed"],
    ["e1", "e3", "missed"],
  ]);
  expect(
    accepted.map(({ dispatches, reads, events, refused }) => [
      dispatches.map(({ sequence }) => sequence),
      reads.length,
      events.map(({ id }) => id),
      [...refused],
    ]),
  ).toEqual([[[1, 2, 3], 4, ["e1", "e3", "missed"], ["e3"]]]);
  expect(health.read()).toEqual({ state: "ok", lastInboundAtMs: 2_500 });
  expect(lines).toEqual([
    [{ error: full }, "events could not be accepted"],
    [{ error: unnoted }, "what was accepted could not be noted"],
  ]);
  // What says nothing is accepted as well, and nobody is asked to receive it.
  made.push(dispatch(2));
  await made.idle();
  expect([received.length, accepted.length, accepted[1]?.events]).toEqual([3, 2, []]);
  expect(health.read().lastInboundAtMs).toBe(2_500);
  ending.abort();
  made.push(dispatch(4));
  await made.idle();
  await clock.advance(600_000);
  expect([received.length, clock.armed()]).toEqual([3, 0]);
});
