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
