// Whether an account's connection hears at all: a leader whose connection does not, while Redis lets it lead, would keep the account from
// nodes that could (I10). One that says it is degraded and still hears is left alone.
import type { ChannelHealth } from "@parley/channels";
import type { Clock } from "@parley/protocol";

export interface SilentConnectionOptions {
  readonly health: () => ChannelHealth | undefined;
  readonly clock: Clock;
  /** Called again for as long as nothing is heard. Never rejects. */
  readonly ails: () => Promise<void>;
}

const lookEveryMs = 2_000;
/** Longer than a reconnect takes that nobody need notice. */
const patienceMs = 20_000;

/** Returns how to stop looking. */
export function whenSilent({ health, clock, ails }: SilentConnectionOptions): () => void {
  let stopped = false;
  let sinceMono: number | null = null;
  let heardAtMs: number | undefined;
  let timer = clock.after(lookEveryMs, look);

  function look(): void {
    const now = health();
    if (now === undefined || now.state === "ok" || now.lastInboundAtMs !== heardAtMs) sinceMono = null;
    else sinceMono ??= clock.mono();
    heardAtMs = now?.lastInboundAtMs;
    const isOver = sinceMono !== null && clock.mono() - sinceMono >= patienceMs;
    void (isOver ? ails() : Promise.resolve()).then(() => {
      if (!stopped) timer = clock.after(lookEveryMs, look);
    });
  }

  return () => {
    stopped = true;
    timer.cancel();
  };
}
