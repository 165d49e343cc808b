import { expect, test } from "vitest";
import { virtualClock, groupMessage } from "@parley/testkit";
import { botLoops } from "../src/bot-loop-guard.ts";

const bot = (id: string, peer = "-100") => groupMessage({ sender: { id, isBot: true }, address: { peer } });

test("the 21st message of a bot within a minute is dropped, and all of the minute after it", async () => {
  const clock = virtualClock();
  const loops = botLoops(clock);
  const heard = Array.from({ length: 21 }, () => loops.passes(bot("7")));
  expect(heard).toEqual([...Array.from({ length: 20 }, () => true), false]);
  await clock.advance(59_999);
  expect(loops.passes(bot("7"))).toBe(false);
  await clock.advance(1);
  expect(loops.passes(bot("7"))).toBe(true);
});

test("other bots, and the same bot in another conversation, are counted for themselves", () => {
  const loops = botLoops(virtualClock());
  for (let nth = 0; nth < 21; nth += 1) loops.passes(bot("7"));
  expect([loops.passes(bot("7")), loops.passes(bot("8")), loops.passes(bot("7", "-200"))]).toEqual([
    false,
    true,
    true,
  ]);
});

test("a bot that writes every four seconds is never cut", async () => {
  const clock = virtualClock();
  const loops = botLoops(clock);
  for (let nth = 0; nth < 100; nth += 1) {
    expect(loops.passes(bot("7"))).toBe(true);
    await clock.advance(4_000);
  }
});

test("a flood of bots is forgotten in part, never kept whole", () => {
  const loops = botLoops(virtualClock());
  for (let nth = 0; nth < 21; nth += 1) loops.passes(bot("muted"));
  for (let nth = 0; nth < 1_000; nth += 1) loops.passes(bot(`b${nth}`));
  expect(loops.passes(bot("muted"))).toBe(true);
});

test("a message leaves the count after exactly a minute, and a bot that was silenced begins anew", async () => {
  const clock = virtualClock();
  const loops = botLoops(clock);
  const say = (times: number) => Array.from({ length: times }, () => loops.passes(bot("7")));
  say(20);
  await clock.advance(59_999);
  expect(say(1)).toEqual([false]);
  await clock.advance(60_000);
  expect(say(21)).toEqual([...Array.from({ length: 20 }, () => true), false]);
  const steady = botLoops(clock);
  for (let nth = 0; nth < 20; nth += 1) steady.passes(bot("8"));
  await clock.advance(60_000);
  expect(steady.passes(bot("8"))).toBe(true);
});

test("of a thousand bots the one that was silent longest is forgotten for the next one", () => {
  const loops = botLoops(virtualClock());
  for (let nth = 0; nth < 20; nth += 1) loops.passes(bot("old"));
  for (let nth = 0; nth < 999; nth += 1) loops.passes(bot(`b${nth}`));
  // A thousand are known: the first is still counted, and spoke last now.
  expect(loops.passes(bot("old"))).toBe(false);
  loops.passes(bot("another"));
  expect(loops.passes(bot("old"))).toBe(false);
});
