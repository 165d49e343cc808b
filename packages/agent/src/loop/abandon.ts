// Stops waiting for work that ignores its abort signal after a short grace period, so that a stop or deadline
// always ends a turn.
import type { Clock, Timer } from "@parley/protocol";

/** Models and tools must end within a second of the abort; this bounds those that do not. */
const abortGraceMs = 5000;

export type Waited<T> = { readonly done: true; readonly value: T } | { readonly done: false };

export interface Patience {
  /**
   * Returns the work's value, or `done: false` once the signal has been aborted for `abortGraceMs`. Rejects
   * as the work does while it is waited for. One work at a time.
   */
  wait<T>(work: Promise<T>): Promise<Waited<T>>;
  end(): void;
}

/** A stream is waited for at each of its events, so what watches the signal is made once for all of them. */
export function patience(signal: AbortSignal, clock: Clock): Patience {
  let giveUp: () => void = () => {};
  let isOver = false;
  let timer: Timer | null = null;
  const onAbort = (): void => {
    timer = clock.after(abortGraceMs, () => {
      isOver = true;
      giveUp();
    });
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return {
    wait: <T>(work: Promise<T>) =>
      new Promise<Waited<T>>((resolve, reject) => {
        giveUp = () => resolve({ done: false });
        // Nobody waits for abandoned work, so its later failure is ignored.
        work.then((value) => resolve({ done: true, value }), reject);
        if (isOver) giveUp();
      }),
    end() {
      timer?.cancel();
      signal.removeEventListener("abort", onAbort);
    },
  };
}

/** For one work alone. */
export async function orAbandon<T>(work: Promise<T>, signal: AbortSignal, clock: Clock): Promise<Waited<T>> {
  const patient = patience(signal, clock);
  try {
    return await patient.wait(work);
  } finally {
    patient.end();
  }
}
