// Watches whether an account's connection receives anything. A leader that keeps its lease but has a dead
// connection would keep the account from nodes that could receive (I10). A connection that is degraded but
// still receives is left alone.
import type { ChannelHealth } from "@parley/channels";
import type { Clock } from "@parley/protocol";

export interface SilentConnectionOptions {
  readonly health: () => ChannelHealth | undefined;
  readonly clock: Clock;
  /** Called again for as long as the connection is silent. Never rejects. */
  readonly onSilent: () => Promise<void>;
}

const lookEveryMs = 2_000;
/** Longer than a reconnect that nobody need notice. */
const toleratedMs = 20_000;

/** Returns a function that stops watching. */
export function whenSilent({ health, clock, onSilent }: SilentConnectionOptions): () => void {
  let stopped = false;
  let sinceMono: number | null = null;
  let heardAtMs: number | undefined;
  let timer = clock.after(lookEveryMs, look);

  function look(): void {
    const now = health();
    if (now === undefined || now.state === "ok" || now.lastInboundAtMs !== heardAtMs) sinceMono = null;
    else sinceMono ??= clock.mono();
    heardAtMs = now?.lastInboundAtMs;
    const isOver = sinceMono !== null && clock.mono() - sinceMono >= toleratedMs;
    void (isOver ? onSilent() : Promise.resolve()).then(() => {
      if (!stopped) timer = clock.after(lookEveryMs, look);
    });
  }

  return () => {
    stopped = true;
    timer.cancel();
  };
}
