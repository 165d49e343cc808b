// Makes ids of traces and spans from the ids of rows and turns, so that every process makes the same ones.
import { createHash } from "node:crypto";

function hashed(text: string, digits: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, digits);
}

export function spanId(kind: string, id: string): string {
  return hashed(`${kind} ${id}`, 16);
}

/** The span that a row's trace begins with. */
export function root(row: string): { readonly traceId: string; readonly spanId: string } {
  return { traceId: hashed(`row ${row}`, 32), spanId: spanId("received", row) };
}

/** The same for every process, so that a trace is whole or not there. */
export function isSampled(traceId: string, ratio: number): boolean {
  return parseInt(traceId.slice(-8), 16) / 0x1_0000_0000 < ratio;
}
