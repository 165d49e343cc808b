// Time as a port. The only file of the product that reads a clock or sets a timer; tests hand in a virtual one.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time, milliseconds since the epoch. May jump. */
  now(): number;
  /** Monotonic milliseconds since an arbitrary start: for timeouts and durations. */
  mono(): number;
  /** Calls `run` once, `afterMs` from now at the earliest. Any length is safe. */
  after(afterMs: number, run: () => void): Timer;
}

/** Node fires a timer of 2^31 ms or more at once, so longer waits are armed again in steps of a day. */
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

/** Resolves after `afterMs`, or early when the signal aborts: it never rejects, the caller looks at the signal. */
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
