// A clock that stands until it is moved; what was set for a time before that runs then.
import type { Clock } from "@parley/protocol";

export interface TestClock extends Clock {
  advance(byMs: number): void;
}

export function testClock(startMs = 1_700_000_000_000): TestClock {
  let nowMs = startMs;
  let timers: { readonly atMs: number; readonly run: () => void }[] = [];
  return {
    now: () => nowMs,
    mono: () => nowMs - startMs,
    after(afterMs, run) {
      const timer = { atMs: nowMs + afterMs, run };
      timers.push(timer);
      return { cancel: () => void (timers = timers.filter((each) => each !== timer)) };
    },
    advance(byMs) {
      nowMs += byMs;
      const due = timers.filter(({ atMs }) => atMs <= nowMs);
      timers = timers.filter(({ atMs }) => atMs > nowMs);
      for (const { run } of due) run();
    },
  };
}
