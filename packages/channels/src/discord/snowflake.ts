// Discord's ids (snowflakes) contain their time: milliseconds since 2015 above 22 bits. They exceed 2^53, so
// they stay text everywhere outside this file.
import { Fault } from "@parley/protocol";

const discordEpochMs = 1_420_070_400_000n;

export function isSnowflake(text: unknown): text is string {
  return typeof text === "string" && /^\d{1,20}$/.test(text);
}

/** Returns the id. Throws Fault("invalid") for a text that is no id. */
export function snowflake(text: string, what: string): string {
  if (!/^\d{1,20}$/.test(text))
    throw new Fault("invalid", `"${text}" is not a Discord ${what} id: it must be digits`);
  return text;
}

/** When the thing with this id was created, in milliseconds since the epoch. */
export function madeAtMs(id: string): number {
  return Number((BigInt(id) >> 22n) + discordEpochMs);
}

/** Other servers with Discord's protocol may count ids from one; such ids contain no time. */
export function namesTime(id: string): boolean {
  return madeAtMs(id) > Number(discordEpochMs) + 31_536_000_000;
}

/** The smallest id of a moment; newer things have greater ids. */
export function idAt(atMs: number): string {
  const sinceMs = BigInt(Math.trunc(atMs)) - discordEpochMs;
  return String((sinceMs > 0n ? sinceMs : 0n) << 22n);
}

export function newerId(a: string, b: string): string {
  return BigInt(a) > BigInt(b) ? a : b;
}
