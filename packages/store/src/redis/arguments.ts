// Arguments in a form that survives Lua's JSON, which has no null and cannot tell [] from {}.
import type { Json } from "@parley/protocol";
import type { CellWrite, Lease } from "../store.ts";

/** A turn or parcel is a lease with much beside it that no script needs. */
export function leaseOf({ lane, token, holder, term }: Lease): object {
  return { lane, token, holder, term };
}

/** Without a value: the cell goes. */
export function cellWrites(writes: readonly CellWrite[]): readonly object[] {
  return writes.map(({ value, ...write }) => (value === null ? write : { ...write, value }));
}

/** Field and its JSON text; a field alone goes. */
export function fieldPatch(patch: { readonly [field: string]: Json }): readonly (readonly string[])[] {
  return Object.entries(patch).map(([field, value]) =>
    value === null ? [field] : [field, JSON.stringify(value)],
  );
}
