// Time that passes as fast as whoever waits for it lets it, for commands that read the system's clock.
import { onTestFinished, vi } from "vitest";

/** From now on in this test timers, and the time since the start, go by `pass` alone. */
export function stopTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** What sockets and processes do goes on meanwhile. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Exactly so much, and then a few turns for what follows from it. */
export async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  for (let n = 0; n < 5; n += 1) await turn();
}

/** A second after the other, until it has ended. */
export async function passUntil<T>(work: Promise<T>): Promise<T> {
  let hasEnded = false;
  const end = (): void => void (hasEnded = true);
  work.then(end, end);
  while (!hasEnded) {
    await turn();
    vi.advanceTimersByTime(1_000);
  }
  return work;
}
