// Stops waiting for work that ignores its abort signal after a short grace period, so that a stop or deadline
// always ends a turn.
import { type Clock, sleep } from "@parley/protocol";

/** Made once, because every model call and tool ends here. */
const isSettled = new Error("the work has settled");

/** Models and tools must end within a second of the abort; this bounds those that do not. */
const abortGraceMs = 5000;

export type Waited<T> = { readonly done: true; readonly value: T } | { readonly done: false };

/**
 * Returns the work's value, or `done: false` once the signal has been aborted for `abortGraceMs`. Rejects as
 * the work does while it is waited for.
 */
export async function orAbandon<T>(work: Promise<T>, signal: AbortSignal, clock: Clock): Promise<Waited<T>> {
  const settled = new AbortController();
  const grace = async (): Promise<Waited<T>> => {
    await aborted(signal, settled.signal);
    await sleep(clock, abortGraceMs, settled.signal);
    return { done: false };
  };
  try {
    return await Promise.race([work.then((value): Waited<T> => ({ done: true, value })), grace()]);
  } finally {
    settled.abort(isSettled);
    // Nobody waits for abandoned work, so its failure is ignored.
    work.catch(() => {});
  }
}

function aborted(signal: AbortSignal, settled: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted || settled.aborted) return resolve();
    const done = (): void => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done, { once: true });
    settled.addEventListener("abort", done, { once: true });
  });
}
