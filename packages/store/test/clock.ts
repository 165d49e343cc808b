// A clock that stands until it is moved. Only `now` and `mono` matter to a store: it sets no timers.
import type { Clock } from "@parley/protocol";

export interface TestClock extends Clock {
  advance(byMs: number): void;
}

export function testClock(startMs = 1_700_000_000_000): TestClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    mono: () => nowMs - startMs,
    after: () => {
      throw new Error("a store sets no timers");
    },
    advance(byMs) {
      nowMs += byMs;
    },
  };
}
