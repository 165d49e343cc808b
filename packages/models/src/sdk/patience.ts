// How long a call waits for its server: first for headers, then for the first token, then between events. On the monotonic clock.
// Time in which nobody reads does not count: a slow consumer is not a slow server.
import type { Clock, Timer } from "@parley/protocol";
import type { ModelTimers } from "../providers/provider.ts";

export interface Patience {
  headers(): void;
  firstToken(): void;
  progress(): void;
  /** Around each wait for the stream's next event. */
  reading(now: boolean): void;
  end(): void;
}

export type Stage = "headers" | "first token" | "next event";

/** `lost` is called once, with what did not come and the milliseconds that were waited. */
export function patience(timers: ModelTimers, clock: Clock, lost: (stage: Stage, waitedMs: number) => void): Patience {
  let stage: Stage = "headers";
  let sinceMs = clock.mono();
  let isReading = true;
  let timer: Timer;
  const limitMs = (): number => ({ headers: timers.connectMs, "first token": timers.firstTokenMs, "next event": timers.idleMs })[stage];
  const arm = (afterMs: number): void => {
    timer = clock.after(afterMs, () => {
      const leftMs = sinceMs + limitMs() - clock.mono();
      if (leftMs > 0) arm(leftMs);
      else if (isReading) lost(stage, limitMs());
      else arm(limitMs());
    });
  };
  const enter = (next: Stage): void => {
    stage = next;
    sinceMs = clock.mono();
    timer.cancel();
    arm(limitMs());
  };
  arm(limitMs());
  return {
    headers: () => stage === "headers" && enter("first token"),
    firstToken: () => stage === "first token" && enter("next event"),
    progress() {
      if (stage === "next event") sinceMs = clock.mono();
    },
    reading(now) {
      // The first token has one deadline from the headers on; only between events does a pause start the count again.
      if (now && stage === "next event") sinceMs = clock.mono();
      isReading = now;
    },
    end: () => timer.cancel(),
  };
}
