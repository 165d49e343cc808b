// The turns that this process runs now, so that /stop reaches one at once instead of at its next lease renewal.
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
}

export function runningTurns(): RunningTurns {
  const running = new Map<string, AbortController>();
  let tell: (turn: string) => void = () => {};
  const abort = (turn: string): void => running.get(turn)?.abort(new Fault("conflict", "the turn was told to stop"));
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
  };
}
