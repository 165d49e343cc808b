// Virtual time and the order of events: the seeded scheduler. Everything that happens in a simulation is an
// event here; between two of them all promises come to rest, so one seed has exactly one history. node:sqlite
// commits in the event loop's next turn, which `rest` includes.
import type { Draw } from "./chance.ts";

/** Whoever an event belongs to: a process that may die or be frozen. */
interface Owner {
  readonly alive: boolean;
  /** Frozen until then: its events wait. */
  readonly frozenUntilMs: number;
}

interface Scheduled {
  cancel(): void;
}

export interface Timeline {
  /** Virtual milliseconds since the epoch. */
  now(): number;
  /**
   * Counts the events so far: calls made between two events share a number, as calls of one turn of the event
   * loop do.
   */
  beat(): number;
  /**
   * Runs `run` in `afterMs`. Events of one instant come in an order that the seed decides. An event of a dead
   * owner never runs.
   */
  after(afterMs: number, run: () => void | Promise<void>, owner?: Owner): Scheduled;
  /** Runs events until `done` says so or nothing is left before `untilMs`. */
  run(untilMs: number, done: () => boolean): Promise<void>;
  /** Events that wait for this owner. */
  waiting(owner: Owner): number;
}

interface Entry {
  atMs: number;
  readonly tie: number;
  readonly order: number;
  readonly run: () => void | Promise<void>;
  readonly owner: Owner | undefined;
  cancelled: boolean;
}

export const startMs = Date.UTC(2026, 0, 1);

export function timeline(draw: Draw): Timeline {
  const heap: Entry[] = [];
  let nowMs = startMs;
  let beats = 0;
  let orders = 0;

  const before = (a: Entry, b: Entry): boolean =>
    a.atMs !== b.atMs ? a.atMs < b.atMs : a.tie !== b.tie ? a.tie < b.tie : a.order < b.order;

  function push(entry: Entry): void {
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || !before(entry, parent)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = entry;
  }

  function pop(): Entry | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const a = heap[left];
      if (a === undefined) break;
      const b = heap[left + 1];
      const smaller = b !== undefined && before(b, a) ? b : a;
      if (!before(smaller, last)) break;
      heap[at] = smaller;
      at = smaller === a ? left : left + 1;
    }
    heap[at] = last;
    return first;
  }

  return {
    now: () => nowMs,
    beat: () => beats,
    after(afterMs, run, owner) {
      const order = orders++;
      const entry: Entry = {
        atMs: nowMs + Math.max(0, Math.round(afterMs)),
        tie: draw(`tie ${order}`),
        order,
        run,
        owner,
        cancelled: false,
      };
      push(entry);
      return {
        cancel: () => {
          entry.cancelled = true;
        },
      };
    },
    async run(untilMs, done) {
      await rest();
      while (!done()) {
        const entry = pop();
        if (entry === undefined) return;
        if (entry.cancelled || entry.owner?.alive === false) continue;
        if (entry.atMs > untilMs) {
          push(entry);
          nowMs = untilMs;
          return;
        }
        if (entry.owner !== undefined && entry.owner.frozenUntilMs > entry.atMs) {
          entry.atMs = entry.owner.frozenUntilMs;
          push(entry);
          continue;
        }
        nowMs = Math.max(nowMs, entry.atMs);
        beats += 1;
        await entry.run();
        await rest();
      }
    },
    waiting: (owner) => heap.filter((entry) => entry.owner === owner && !entry.cancelled).length,
  };
}

/** Promises come to rest, and node:sqlite's shared commit happens: it was asked for before this. */
function rest(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
