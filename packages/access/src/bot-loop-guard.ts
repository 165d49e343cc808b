// Cuts loops of bots that answer each other. One bot in one conversation is heard only so many times a
// minute; one message too many silences it for another minute. People are not counted. It lives in memory,
// because a loop that survives a restart is cut again at once.
import { conversationKey, type Clock, type Inbound } from "@parley/protocol";

export interface BotLoops {
  /** Counts this message of a bot; false when it is one too many. */
  passes(inbound: Pick<Inbound, "address" | "sender">): boolean;
}

/** Defaults that users of similar bots know (parity.md 1.6). */
const mostEvents = 20;
const windowMs = 60_000;
const cooldownMs = 60_000;
/** Most remembered pairs; a flood of bots evicts the one that was silent longest (I9). */
const mostPairs = 1_000;

interface Pair {
  readonly atMs: readonly number[];
  readonly mutedUntilMs: number;
}

export function botLoops(clock: Pick<Clock, "mono">): BotLoops {
  const pairs = new Map<string, Pair>();

  const keep = (key: string, pair: Pair): void => {
    pairs.delete(key);
    pairs.set(key, pair);
    const [oldest] = pairs.keys();
    if (pairs.size > mostPairs && oldest !== undefined) pairs.delete(oldest);
  };

  return {
    passes({ address, sender }) {
      const key = `${conversationKey(address)}/${sender.id}`;
      const now = clock.mono();
      const { atMs, mutedUntilMs } = pairs.get(key) ?? { atMs: [], mutedUntilMs: -Infinity };
      if (now < mutedUntilMs) return false;
      const recent = atMs.filter((each) => each > now - windowMs);
      const passes = recent.length < mostEvents;
      keep(
        key,
        passes ? { atMs: [...recent, now], mutedUntilMs } : { atMs: [], mutedUntilMs: now + cooldownMs },
      );
      return passes;
    },
  };
}
