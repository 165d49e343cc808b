// Time and chance for tests: timers run in order and only when told, ids repeat under a seed.
import { sleep } from "@parley/protocol";
import { expect, test } from "vitest";
import { seededIds, virtualClock } from "@parley/testkit";

test("timers run in the order they fall due, each at its own instant", async () => {
  const clock = virtualClock({ startMs: 1_000 });
  const seen: [string, number][] = [];
  const note = (name: string) => () => void seen.push([name, clock.now()]);
  clock.after(20, note("late"));
  clock.after(10, note("first"));
  clock.after(10, note("second"));
  clock.after(31, note("never"));
  clock.after(15, note("cancelled")).cancel();
  await clock.advance(30);
  expect(seen).toEqual([
    ["first", 1_010],
    ["second", 1_010],
    ["late", 1_020],
  ]);
  expect(clock.now()).toBe(1_030);
  expect(clock.armed()).toBe(1);
});

test("a chain of sleeps inside the span runs whole", async () => {
  const clock = virtualClock();
  let laps = 0;
  const lapping = (async () => {
    for (; laps < 100; laps++) await sleep(clock, 10);
  })();
  await clock.advance(999);
  expect(laps).toBe(99);
  await clock.advance(1);
  await lapping;
  expect(laps).toBe(100);
});

test("a jump of the wall clock moves no timer", async () => {
  const clock = virtualClock({ startMs: 50_000 });
  let ran = 0;
  clock.after(10, () => ran++);
  clock.jumpWall(-40_000);
  expect(clock.now()).toBe(10_000);
  expect(await clock.advanceToNext()).toBe(true);
  expect([ran, clock.mono(), clock.now()]).toEqual([1, 10, 10_010]);
  expect(await clock.advanceToNext()).toBe(false);
});

test("ids repeat under the same seed and differ under another", () => {
  const draw = (seed: number): unknown => {
    const ids = seededIds(seed);
    return [ids.uuid(), ids.uuid(), ids.code("ABCDEFGH", 8), ids.chance()];
  };
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
  expect(seededIds(1).uuid()).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});
