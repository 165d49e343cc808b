// Makes ids as Discord does: 42 bits of milliseconds since 2015, 22 bits that count. They are strings and
// always grow, because clients order messages and page through history by them.
import type { Clock } from "@parley/protocol";

/** Discord's documentation, "Snowflakes": the first second of 2015. */
const epochMs = 1_420_070_400_000n;

export function snowflakes(clock: Clock): () => string {
  let last = 0n;
  return () => {
    const earliest = (BigInt(Math.floor(clock.now())) - epochMs) << 22n;
    last = earliest > last ? earliest : last + 1n;
    return String(last);
  };
}

export function snowflakeMs(id: string): number {
  return Number((BigInt(id) >> 22n) + epochMs);
}

/**
 * For sorting: negative when the first id is the older one. Ids differ in length, so text order is not
 * enough.
 */
export function olderFirst(a: string, b: string): number {
  const left = BigInt(a);
  const right = BigInt(b);
  return left < right ? -1 : left > right ? 1 : 0;
}
