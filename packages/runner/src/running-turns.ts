// The turns that this process runs now, so that /stop reaches one at once instead of at its next lease renewal; and how far the answers
// had come that were stopped here, until they are closed.
import { Fault } from "@parley/protocol";

export interface RunningTurns {
  /** A signal that aborts when the turn is stopped; call `end` when it is over. */
  begin(turn: string): { readonly signal: AbortSignal; end(): void };
  /** A turn that another process runs learns it from the store, and at once where others are told. */
  stop(turn: string): void;
  /** Another process asks for it. */
  heard(turn: string): void;
  /** How others are told from now on. */
  tellOthers(tell: (turn: string) => void): void;
  count(): number;
  /** The turn was told to stop in the middle of an answer that people could see so far. */
  leave(turn: string, said: string): void;
  /** What `leave` said of it; null where that was another process, or nothing was said. */
  left(turn: string): string | null;
}

/** A turn that was left is closed at once, so the newest are enough. */
const most = { left: 20, chars: 100_000 };

export function runningTurns(): RunningTurns {
  const running = new Map<string, AbortController>();
  const left = new Map<string, string>();
  let tell: (turn: string) => void = () => {};
  const abort = (turn: string): void =>
    running.get(turn)?.abort(new Fault("conflict", "the turn was told to stop"));
  return {
    begin(turn) {
      const controller = new AbortController();
      running.set(turn, controller);
      return {
        signal: controller.signal,
        end() {
          if (running.get(turn) === controller) running.delete(turn);
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
    left: (turn) => left.get(turn) ?? null,
  };
}
