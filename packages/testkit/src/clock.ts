// Replaces time and chance in tests: a clock that moves only when a test moves it, and ids that repeat under
// the same seed. Both stand in for the ports of protocol, so that no test waits and every failure can be
// replayed.
import type { Clock, Ids } from "@parley/protocol";

export interface VirtualClock extends Clock {
  /**
   * Moves time forward by `byMs` and runs the timers that fall due, each at its own instant and in order
   * (equal instants: first armed, first run). Work that the timers set off gets room between two instants, so
   * a chain of `after` calls inside the span runs whole.
   */
  advance(byMs: number): Promise<void>;
  /** Steps to the next timer, if there is one, and runs what is due then. False when no timer is armed. */
  advanceToNext(): Promise<boolean>;
  /** Makes the wall clock jump (it may go backwards); `mono` and the timers do not notice. */
  jumpWall(byMs: number): void;
  /** Number of armed timers: a leak shows as a number that grows (I9). */
  armed(): number;
}

export interface VirtualClockOptions {
  /** Wall time at the start, milliseconds since the epoch. */
  readonly startMs?: number;
  /**
   * Gives other work its turn between two instants. By default four turns of the event loop: enough for
   * promise chains and for node:sqlite; real sockets need more, and tests with sockets wait for what they
   * expect instead.
   */
  readonly settle?: () => Promise<void>;
}

interface Armed {
  readonly atMono: number;
  readonly order: number;
  readonly run: () => void;
}

export function virtualClock(options: VirtualClockOptions = {}): VirtualClock {
  const settle = options.settle ?? settleLoop;
  const timers = new Set<Armed>();
  let wallOffsetMs = options.startMs ?? Date.UTC(2026, 0, 1);
  let monoMs = 0;
  let orders = 0;

  const nextDue = (untilMono: number): Armed | undefined => {
    let first: Armed | undefined;
    for (const timer of timers) {
      if (timer.atMono > untilMono) continue;
      if (
        first === undefined ||
        timer.atMono < first.atMono ||
        (timer.atMono === first.atMono && timer.order < first.order)
      )
        first = timer;
    }
    return first;
  };

  const runUntil = async (untilMono: number): Promise<void> => {
    await settle();
    for (let due = nextDue(untilMono); due !== undefined; due = nextDue(untilMono)) {
      timers.delete(due);
      monoMs = Math.max(monoMs, due.atMono);
      due.run();
      await settle();
    }
    monoMs = Math.max(monoMs, untilMono);
  };

  return {
    now: () => wallOffsetMs + monoMs,
    mono: () => monoMs,
    after(afterMs, run) {
      const timer: Armed = { atMono: monoMs + Math.max(0, afterMs), order: orders++, run };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
    advance: (byMs) => runUntil(monoMs + byMs),
    async advanceToNext() {
      await settle();
      const due = nextDue(Number.POSITIVE_INFINITY);
      if (due === undefined) return false;
      await runUntil(due.atMono);
      return true;
    },
    jumpWall(byMs) {
      wallOffsetMs += byMs;
    },
    armed: () => timers.size,
  };
}

/**
 * Makes ids that repeat under the same seed, in the order of the calls. `uuid` has the form of a version 4
 * UUID.
 */
export function seededIds(seed: number): Ids {
  const chance = seededChance(seed);
  const hex = (length: number): string =>
    Array.from({ length }, () => Math.floor(chance() * 16).toString(16)).join("");
  return {
    uuid: () =>
      `${hex(8)}-${hex(4)}-4${hex(3)}-${"89ab".charAt(Math.floor(chance() * 4))}${hex(3)}-${hex(12)}`,
    code: (alphabet, length) =>
      Array.from({ length }, () => alphabet.charAt(Math.floor(chance() * alphabet.length))).join(""),
    chance,
  };
}

/**
 * Numbers in [0, 1) by a multiplicative congruential generator (Lehmer; multiplier 48271 and modulus 2^31 -
 * 1, Park and Miller 1993).
 */
function seededChance(seed: number): () => number {
  const modulus = 2_147_483_647;
  let state = (Math.abs(Math.trunc(seed)) % (modulus - 1)) + 1;
  const next = (): number => {
    state = (state * 48_271) % modulus;
    return (state - 1) / (modulus - 1);
  };
  // Small seeds begin with small numbers; a few draws spread them.
  for (let i = 0; i < 8; i++) next();
  return next;
}

async function settleLoop(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
