// Converts arguments to a form that survives Lua's JSON, which has no null and cannot tell [] from {}.
import type { Json } from "@parley/protocol";
import type { CellWrite, Lease } from "../store.ts";

/** Turns and batches are leases with many more fields; scripts need only these. */
export function leaseOf({ lane, token, holder, term }: Lease): object {
  return { lane, token, holder, term };
}

/** A write without a value deletes the cell. */
export function cellWrites(writes: readonly CellWrite[]): readonly object[] {
  return writes.map(({ value, ...write }) => (value === null ? write : { ...write, value }));
}

/** Pairs of field and JSON text; a field alone deletes it. */
export function fieldPatch(patch: { readonly [field: string]: Json }): readonly (readonly string[])[] {
  return Object.entries(patch).map(([field, value]) =>
    value === null ? [field] : [field, JSON.stringify(value)],
  );
}
