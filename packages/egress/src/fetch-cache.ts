// Pages that were read a moment ago, so that an agent that looks twice does not ask the site twice. Bounded
// in entries, in characters and in time (I9); the oldest leave first.
import type { Clock } from "@parley/protocol";

export interface CacheLimits {
  readonly keptMs: number;
  readonly entries: number;
  readonly chars: number;
}

const defaultCacheLimits: CacheLimits = { keptMs: 15 * 60_000, entries: 50, chars: 4_000_000 };

export interface FetchCache<Value> {
  get(key: string): Value | null;
  /** `chars` is what the value weighs; a value heavier than the whole cache is not kept. */
  put(key: string, value: Value, chars: number): void;
}

export function fetchCache<Value>(clock: Clock, asked: Partial<CacheLimits> = {}): FetchCache<Value> {
  const limits = { ...defaultCacheLimits, ...asked };
  const kept = new Map<
    string,
    { readonly value: Value; readonly chars: number; readonly untilMono: number }
  >();
  let chars = 0;
  const drop = (key: string): void => {
    chars -= kept.get(key)?.chars ?? 0;
    kept.delete(key);
  };
  return {
    get(key) {
      const found = kept.get(key);
      if (found === undefined) return null;
      if (found.untilMono > clock.mono()) return found.value;
      drop(key);
      return null;
    },
    put(key, value, weight) {
      drop(key);
      if (weight > limits.chars) return;
      kept.set(key, { value, chars: weight, untilMono: clock.mono() + limits.keptMs });
      chars += weight;
      for (const oldest of kept.keys()) {
        if (kept.size <= limits.entries && chars <= limits.chars) break;
        drop(oldest);
      }
    },
  };
}
