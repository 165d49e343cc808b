// Discord's ids carry their time: milliseconds since 2015 above 22 bits. They exceed 2^53, so they are text everywhere but in here.
import { Fault } from "@parley/protocol";

const discordEpochMs = 1_420_070_400_000n;

export function isSnowflake(text: unknown): text is string {
  return typeof text === "string" && /^\d{1,20}$/.test(text);
}

/** The id itself. Throws Fault("invalid") for what is none. */
export function snowflake(text: string, what: string): string {
  if (!/^\d{1,20}$/.test(text))
    throw new Fault("invalid", `"${text}" is not a Discord ${what} id: it must be digits`);
  return text;
}

/** When the thing with this id was made. */
export function madeAtMs(id: string): number {
  return Number((BigInt(id) >> 22n) + discordEpochMs);
}

/** Other servers that speak Discord's protocol may count their ids from one: such an id names no time. */
export function namesTime(id: string): boolean {
  return madeAtMs(id) > Number(discordEpochMs) + 31_536_000_000;
}

/** The smallest id of a moment: what is newer than it comes after it. */
export function idAt(atMs: number): string {
  const sinceMs = BigInt(Math.trunc(atMs)) - discordEpochMs;
  return String((sinceMs > 0n ? sinceMs : 0n) << 22n);
}

export function newerId(a: string, b: string): string {
  return BigInt(a) > BigInt(b) ? a : b;
}
