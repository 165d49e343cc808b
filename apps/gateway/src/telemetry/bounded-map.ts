// A map for what is worth remembering and may be forgotten: past its size, what was set longest ago goes
// (I9).

/** Entries at once. */
const mostKnown = 2_000;

export function boundedMap<Value>() {
  const known = new Map<string, Value>();
  return {
    get: (key: string): Value | undefined => known.get(key),
    set(key: string, value: Value): void {
      known.delete(key);
      known.set(key, value);
      const [oldest] = known.keys();
      if (known.size > mostKnown && oldest !== undefined) known.delete(oldest);
    },
    take(key: string): Value | undefined {
      const value = known.get(key);
      known.delete(key);
      return value;
    },
  };
}
