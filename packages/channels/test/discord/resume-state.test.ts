// The note of what was heard where: how many conversations, for how long, and how finely their times are
// kept.
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { resumeState } from "../../src/discord/resume-state.ts";
import { keptMemory } from "./rig.ts";

const hour = 3_600_000;
const week = 168 * hour;
const channel = (nth: number): string => String(1234567890123456000n + BigInt(nth));

function noted() {
  const clock = virtualClock();
  const memory = keptMemory();
  const state = resumeState(memory, clock, silentLog);
  const hears = (nth: number, message = nth): Promise<void> =>
    state.accepted({
      dispatches: [],
      reads: [
        { event: null, seen: { channel: channel(nth), guild: channel(999), message: channel(message) } },
      ],
    });
  const heard = (): string[] => state.conversations().map((each) => each.channel);
  return { clock, memory, state, hears, heard };
}

test("the two hundred conversations that were heard last are noted, also for the next process", async () => {
  const { clock, memory, hears, heard } = noted();
  for (let nth = 1; nth <= 200; nth += 1) await hears(nth);
  await clock.advance(hour);
  await hears(1);
  expect(heard()).toHaveLength(200);
  await hears(201);
  const expected = [...Array.from({ length: 198 }, (_, nth) => nth + 3), 1, 201].map(channel);
  expect(heard()).toEqual(expected);
  const next = resumeState(memory, clock, silentLog);
  await next.load();
  expect(next.conversations().map((each) => each.channel)).toEqual(expected);
});

test("one is noted for a week, and its time anew after an hour", async () => {
  const { clock, state, hears, heard } = noted();
  const beganMs = clock.now();
  const seen = (): number[] => state.conversations().map(({ seenAtMs }) => seenAtMs - beganMs);
  await hears(1);
  await clock.advance(hour - 1);
  await hears(1);
  expect(seen()).toEqual([0]);
  await clock.advance(1);
  await hears(1);
  expect(seen()).toEqual([hour]);
  await clock.advance(week);
  await hears(2);
  expect(heard()).toEqual([channel(1), channel(2)]);
  await clock.advance(hour);
  await hears(3);
  expect(heard()).toEqual([channel(2), channel(3)]);
});

test("the newest message stands, whatever order they are read in", async () => {
  const { state, hears } = noted();
  for (const message of [5, 9, 7]) await hears(1, message);
  expect(state.lastMessageId()).toBe(channel(9));
});
