// Timeouts of one call: for the headers, the first token, each gap between events, and the whole. They use
// the monotonic clock. Time in which nobody reads does not count between events, because a slow consumer is
// not a slow server.
import type { Clock, Timer } from "@parley/protocol";
import type { ModelTimers } from "../provider.ts";

export interface Timeouts {
  headers(): void;
  firstToken(): void;
  progress(): void;
  /** Call it around each wait for the stream's next event. */
  reading(now: boolean): void;
  end(): void;
}

export type Stage = "headers" | "first token" | "next event" | "end of the answer";

/** `lost` is called once, with the missing thing and the milliseconds waited. */
export function timeouts(
  timers: ModelTimers,
  clock: Clock,
  lost: (stage: Stage, waitedMs: number) => void,
): Timeouts {
  let stage: Exclude<Stage, "end of the answer"> = "headers";
  let sinceMs = clock.mono();
  const untilMs = sinceMs + timers.totalMs;
  let isReading = true;
  let timer: Timer;
  const limitMs = (): number =>
    ({ headers: timers.connectMs, "first token": timers.firstTokenMs, "next event": timers.idleMs })[stage];
  const arm = (afterMs: number): void => {
    timer = clock.after(Math.max(0, Math.min(afterMs, untilMs - clock.mono())), () => {
      const leftMs = sinceMs + limitMs() - clock.mono();
      if (clock.mono() >= untilMs) lost("end of the answer", timers.totalMs);
      else if (leftMs > 0) arm(leftMs);
      else if (isReading) lost(stage, limitMs());
      else arm(limitMs());
    });
  };
  const enter = (next: typeof stage): void => {
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
      // The first token has one deadline from the headers on; only between events does a pause restart the
      // count.
      if (stage === "next event") sinceMs = clock.mono();
      isReading = now;
    },
    end: () => timer.cancel(),
  };
}
