// The turns that this process runs now, so that /stop reaches one at once instead of at its next lease renewal.
import { Fault } from "@parley/protocol";

export interface RunningTurns {
  /** A signal that aborts when the turn is stopped; call `end` when it is over. */
  begin(turn: string): { readonly signal: AbortSignal; end(): void };
  /** No effect for a turn that another process runs: that one learns it from the store. */
  stop(turn: string): void;
  count(): number;
}

export function runningTurns(): RunningTurns {
  const running = new Map<string, AbortController>();
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
    stop: (turn) => running.get(turn)?.abort(new Fault("conflict", "the turn was told to stop")),
    count: () => running.size,
  };
}
