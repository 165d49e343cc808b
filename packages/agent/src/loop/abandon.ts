// Work that ignores its abort signal is left behind after a short grace, so that a stop or a deadline always
// ends a turn.
import { type Clock, sleep } from "@parley/protocol";

/** A model must end within a second of the abort and a tool too; this is the bound for one that does not. */
const abortGraceMs = 5000;

export type Waited<T> = { readonly done: true; readonly value: T } | { readonly done: false };

/**
 * The work's value, or `done: false` once the signal has been aborted for `abortGraceMs`. Rejects as the work
 * does, while it is waited for.
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
    settled.abort();
    // Nobody waits for abandoned work any more; its failure has no one to tell.
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
