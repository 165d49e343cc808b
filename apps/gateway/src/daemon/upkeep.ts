// What a running daemon does now and then by itself: it looks whether the store takes writes, and lets go of
// what is past its retention (I9). Neither is ever waited for; a failure is tried again. Each function begins
// it and returns how to stop.
import type { Clock, Log } from "@parley/protocol";
import type { Store } from "@parley/store";
import type { GatewayState } from "../gateway-state.ts";

const sweepEveryMs = 60_000;
const sweepRows = 500;
/** Between two slices while there is more to let go of. */
const nextSliceMs = 100;
/** The look is a write: an idle disk may sleep in between. */
const lookEveryMs = 10_000;

/** So that anybody may ask whether the daemon is ready without the store being asked each time. */
export function lookNowAndThen(state: Pick<GatewayState, "look">, clock: Clock): () => void {
  let stopped = false;
  const look = (): void => {
    void state.look().then(() => {
      if (!stopped) timer = clock.after(lookEveryMs, look);
    });
  };
  let timer = clock.after(0, look);
  return () => {
    stopped = true;
    timer.cancel();
  };
}

/** Retention in small slices, so that no turn ever waits for it. */
export function sweepNowAndThen(store: Pick<Store, "sweep">, clock: Clock, log: Log): () => void {
  let stopped = false;
  let timer = clock.after(sweepEveryMs, sweep);
  function sweep(): void {
    store.sweep(sweepRows).then(
      (more) => {
        if (!stopped) timer = clock.after(more ? nextSliceMs : sweepEveryMs, sweep);
      },
      (error: unknown) => {
        log.warn({ error }, "retention failed, trying again later");
        if (!stopped) timer = clock.after(sweepEveryMs, sweep);
      },
    );
  }
  return () => {
    stopped = true;
    timer.cancel();
  };
}
