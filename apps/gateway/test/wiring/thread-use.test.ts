// How busy the thread is said to be: over whole spans alone, each beginning where the one before ended.
import { performance } from "node:perf_hooks";
import { expect, onTestFinished, test, vi } from "vitest";
import { threadUse } from "../../src/wiring/thread-use.ts";

test("the share is that of the last whole span, and stays until the next one is over", () => {
  let [active, idle] = [1_000, 9_000];
  const share = (a: number, i: number): number => (a + i === 0 ? 0 : a / (a + i));
  const looked = vi.spyOn(performance, "eventLoopUtilization").mockImplementation((from) => {
    const [a, i] = [active - (from?.active ?? 0), idle - (from?.idle ?? 0)];
    return { active: a, idle: i, utilization: share(a, i) };
  });
  onTestFinished(() => looked.mockRestore());
  const busy = threadUse();
  const after = (worked: number, rested: number): number => {
    active += worked;
    idle += rested;
    return busy();
  };
  expect(after(200, 49)).toBe(0);
  expect(after(0, 1)).toBe(0.8);
  expect(after(0, 249)).toBe(0.8);
  expect(after(250, 1)).toBe(0.5);
  // Only what came after the last span counts.
  expect(after(0, 250)).toBe(0);
  expect(after(1_000, 0)).toBe(1);
});
