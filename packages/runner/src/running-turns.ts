// Tracks the turns that this process runs, so that /stop reaches one at once instead of at its next lease
// renewal, and remembers how far a stopped answer had come until the turn is closed.
import { Fault, sleep, type Clock } from "@parley/protocol";

export interface RunningTurns {
  /** Returns a signal that aborts when the turn is stopped; call `end` when it is over. */
  begin(turn: string): { readonly signal: AbortSignal; end(): void };
  /**
   * Stops a turn. A turn of another process learns it from the store, or at once where `tellOthers` is set.
   */
  stop(turn: string): void;
  /** Another process calls for the stop. */
  heard(turn: string): void;
  /** Sets how other processes are told from now on. */
  tellOthers(tell: (turn: string) => void): void;
  count(): number;
  /** Keeps the part of a stopped answer that people could see. */
  leave(turn: string, said: string): void;
  /**
   * Returns what `leave` kept; null where another process ran the turn, or people saw nothing. A turn that
   * still ends here is waited for, `withinMs` at most.
   */
  left(turn: string, clock: Clock, withinMs: number): Promise<string | null>;
}

interface Running {
  readonly stopped: AbortController;
  /** Aborts when the turn has ended here. */
  readonly over: AbortController;
}

const isOver = new Error("the turn is over");

/** A stopped turn is closed at once, so the newest are enough. */
const most = { left: 20, chars: 100_000 };

export function runningTurns(): RunningTurns {
  const running = new Map<string, Running>();
  const left = new Map<string, string>();
  let tell: (turn: string) => void = () => {};
  const abort = (turn: string): void =>
    running.get(turn)?.stopped.abort(new Fault("conflict", "the turn was told to stop"));
  return {
    begin(turn) {
      const own: Running = { stopped: new AbortController(), over: new AbortController() };
      running.set(turn, own);
      return {
        signal: own.stopped.signal,
        end() {
          if (running.get(turn) === own) running.delete(turn);
          own.over.abort(isOver);
        },
      };
    },
    stop(turn) {
      if (running.has(turn)) abort(turn);
      else tell(turn);
    },
    heard: abort,
    tellOthers(how) {
      tell = how;
    },
    count: () => running.size,
    leave(turn, said) {
      left.set(turn, said.slice(0, most.chars));
      const [oldest] = left.keys();
      if (left.size > most.left && oldest !== undefined) left.delete(oldest);
    },
    async left(turn, clock, withinMs) {
      const ending = running.get(turn);
      if (ending !== undefined && !left.has(turn)) await sleep(clock, withinMs, ending.over.signal);
      return left.get(turn) ?? null;
    },
  };
}
