// Spaces the starts of background turns while people are served, so that these get most of the thread (I15).
// A background turn costs tens of milliseconds of the process (bench/children.ts): ten a second take half of
// the thread, so fewer begin the busier the process is. Work waits and is never dropped.
import { sleep, type Clock } from "@parley/protocol";

/** Shared by all background pools, because they share the thread. */
export interface Pace {
  /** Milliseconds until the next start, of one turn; null while nobody is served and all may begin. */
  leftMs(): number | null;
  /** A turn begins. */
  began(): void;
}

export interface BackgroundPaceOptions {
  /** True while a turn of a person runs. */
  readonly areServed: () => boolean;
  /** The share of its time for which the thread was busy lately, from 0 to 1. */
  readonly busy: () => number;
  /** Between two starts, on a calm thread and on one that has no time left. Default: those of turns. */
  readonly gapMs?: { readonly least: number; readonly most: number };
  readonly clock: Pick<Clock, "mono">;
}

/** People who talk write again soon: a gap between two of their turns is no time for a burst. */
const servedForMs = 2_000;
const turnGapMs = { least: 100, most: 1_000 };
/** Up to here people wait for nobody; from there on the gap grows. */
const calmShare = 0.5;
/** From here on the gap is longest: even then one turn a second begins, so that all end. */
const fullShare = 0.9;

export function backgroundPace({ areServed, busy, gapMs = turnGapMs, clock }: BackgroundPaceOptions): Pace {
  let servedAtMono = -Infinity;
  let beganAtMono = -Infinity;
  return {
    leftMs() {
      const nowMono = clock.mono();
      if (areServed()) servedAtMono = nowMono;
      if (nowMono - servedAtMono >= servedForMs) return null;
      return Math.max(0, beganAtMono + gapAt(busy(), gapMs) - nowMono);
    },
    began() {
      beganAtMono = clock.mono();
    },
  };
}

/**
 * Waits for the next slot of a pace; those who wait are served in the order in which they came, one a gap.
 * Resolves at once when the signal aborts.
 */
export async function inTurn(
  pace: Pace,
  clock: Parameters<typeof sleep>[0],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const leftMs = pace.leftMs();
    if (leftMs === null || leftMs <= 0) return pace.began();
    await sleep(clock, leftMs, signal);
  }
}

/** Grows by the same factor for each further part of the thread that is busy. */
function gapAt(share: number, { least, most }: { readonly least: number; readonly most: number }): number {
  const strain = Math.min(1, Math.max(0, (share - calmShare) / (fullShare - calmShare)));
  return least * (most / least) ** strain;
}
