// A signal that aborts after a while, and costs nothing once it is not needed any more.
import { Fault } from "./fault.ts";
import type { Clock } from "./clock.ts";

export interface Deadline {
  readonly signal: AbortSignal;
  /** Forgets the timer. */
  cancel(): void;
}

/** Aborts with Fault("unavailable") after `afterMs`. */
export function deadline(clock: Clock, afterMs: number, what: string): Deadline {
  const controller = new AbortController();
  const timer = clock.after(afterMs, () =>
    controller.abort(new Fault("unavailable", `${what} took longer than ${afterMs / 1000} s`)),
  );
  return { signal: controller.signal, cancel: () => timer.cancel() };
}
