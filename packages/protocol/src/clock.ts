// Time as a port. Only this file reads a clock or sets a timer; tests pass in a virtual clock.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since the epoch. May jump. */
  now(): number;
  /** Monotonic milliseconds since an arbitrary start: for timeouts and durations. */
  mono(): number;
  /** Calls `run` once, `afterMs` milliseconds from now at the earliest. There is no upper limit. */
  after(afterMs: number, run: () => void): Timer;
}

/**
 * Node fires a timer of 2^31 ms or more at once (nodejs.org/api/timers.html), so longer waits are chained in
 * steps of a day.
 */
const longestTimerMs = 86_400_000;

export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    mono: () => performance.now(),
    after(afterMs, run) {
      let handle: ReturnType<typeof setTimeout>;
      const arm = (leftMs: number): void => {
        const stepMs = Math.min(Math.max(leftMs, 0), longestTimerMs);
        handle = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : run()), stepMs);
      };
      arm(afterMs);
      return { cancel: () => clearTimeout(handle) };
    },
  };
}

/**
 * Resolves after `afterMs` milliseconds, or early when the signal aborts. It never rejects; the caller checks
 * the signal.
 */
export function sleep(clock: Clock, afterMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.after(afterMs, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}
