// Abort signals with a deadline. The caller cancels the timer when the work is done, so that none is left
// running.
import { Fault } from "./fault.ts";
import type { Clock } from "./clock.ts";

export interface Deadline {
  readonly signal: AbortSignal;
  /** Stops the timer. */
  cancel(): void;
}

/** Returns a signal that aborts with Fault("unavailable") after `afterMs` milliseconds. */
export function deadline(clock: Clock, afterMs: number, what: string): Deadline {
  const controller = new AbortController();
  const timer = clock.after(afterMs, () =>
    controller.abort(new Fault("unavailable", `${what} took longer than ${afterMs / 1000} s`)),
  );
  return { signal: controller.signal, cancel: () => timer.cancel() };
}
