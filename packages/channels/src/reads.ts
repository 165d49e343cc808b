// Calls that only read, on any platform: what a file is fetched with, and how their failures count. Reading
// twice changes nothing, so no failure of a read is ambiguous.
import { Fault } from "@parley/protocol";
import type { Answer, Exchange, Transport } from "./transport.ts";

/**
 * A file is fetched while its conversation waits, so silence for `stallMs`, or `deadlineMs` in all, ends the
 * fetch.
 */
const fileTimes = { stallMs: 8_000, deadlineMs: 25_000 } as const;

export async function fetchedFile(
  line: Transport,
  url: string,
  limitBytes: number,
  signal: Exchange["signal"],
): Promise<Answer> {
  const request = { url, method: "GET", signal, ...fileTimes, maxBytes: limitBytes, line: "calls" } as const;
  return line.exchange(request).catch((error: unknown) => {
    throw error instanceof Fault ? certain(error) : error;
  });
}

/** For a read, `ambiguous` is as good as `unavailable`. */
export function certain(fault: Fault): Fault {
  return fault.code === "ambiguous" ? new Fault("unavailable", fault.message, { cause: fault.cause }) : fault;
}
