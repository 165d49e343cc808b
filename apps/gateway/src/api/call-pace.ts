// Keeps the calls of each program to a pace: a number at once, and as many again in a minute. Programs are
// tokens, of which there are few; one that has not called for a while is forgotten (I9).
import { Fault, type Clock } from "@parley/protocol";

export interface CallPace {
  /** Throws Fault("rate_limited") with the time after which the next call may come. */
  take(peer: string): void;
}

const mostKnown = 1_000;

export function callPace(perMinute: number, clock: Pick<Clock, "mono">): CallPace {
  const known = new Map<string, { left: number; atMs: number }>();
  const msEach = 60_000 / perMinute;
  return {
    take(peer) {
      const nowMs = clock.mono();
      const before = known.get(peer) ?? { left: perMinute, atMs: nowMs };
      const left = Math.min(perMinute, before.left + (nowMs - before.atMs) / msEach);
      if (left < 1)
        throw new Fault("rate_limited", `more than ${perMinute} calls in a minute`, {
          retryAfterMs: Math.ceil((1 - left) * msEach),
        });
      known.delete(peer);
      known.set(peer, { left: left - 1, atMs: nowMs });
      const [oldest] = known.keys();
      if (known.size > mostKnown && oldest !== undefined) known.delete(oldest);
    },
  };
}
