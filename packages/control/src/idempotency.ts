// Runs a side effect once per idempotency key: the same key and params give the same answer, other params a
// conflict. Cells keep keys for a day, so this holds over a restart. A handler must bear being repeated after
// a crash between the effect and its record.
import { createHash } from "node:crypto";
import { z } from "zod";
import { Fault } from "@parley/protocol";
import type { Cells } from "@parley/store";

export type KeyStore = Pick<Cells, "get" | "put">;

interface KeyedRequest {
  /** Keys of one peer mean nothing to another. */
  readonly peer: string;
  readonly method: string;
  readonly key: string;
  readonly params: unknown;
}

/** Rejects with Fault("conflict") when the key was used with other params. */
export type RunOnce = (request: KeyedRequest, run: () => Promise<unknown>) => Promise<unknown>;

const keptMs = 86_400_000;
const recordSchema = z.object({ params: z.string(), result: z.unknown().optional(), done: z.boolean() });

export function onceByKey(store: KeyStore): RunOnce {
  /** Running requests, so that a repeat waits for the same answer. */
  const running = new Map<string, { readonly params: string; readonly result: Promise<unknown> }>();

  async function runRecorded(cellKey: string, params: string, run: () => Promise<unknown>): Promise<unknown> {
    const cell = await store.get(cellKey);
    const known = cell === null ? null : recordSchema.parse(JSON.parse(cell.value));
    if (known !== null && known.params !== params) throw usedOtherwise();
    if (known?.done === true) return known.result;
    if (known === null)
      await store.put(cellKey, JSON.stringify({ params, done: false }), { expect: 0, ttlMs: keptMs });
    const result = await run();
    await store.put(cellKey, JSON.stringify({ params, result, done: true }), { ttlMs: keptMs });
    return result;
  }

  return async ({ peer, method, key, params: given }, run) => {
    const cellKey = `idempotency:${digest([peer, method, key])}`;
    const params = digest(given);
    const other = running.get(cellKey);
    if (other !== undefined) {
      if (other.params !== params) throw usedOtherwise();
      return other.result;
    }
    const result = runRecorded(cellKey, params, run);
    running.set(cellKey, { params, result });
    try {
      return await result;
    } finally {
      running.delete(cellKey);
    }
  };
}

function usedOtherwise(): Fault {
  return new Fault(
    "conflict",
    "this idempotency key was used with other params; take a new key for a new request",
  );
}

function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url");
}
