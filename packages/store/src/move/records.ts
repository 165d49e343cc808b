// The records of a store in a form that both drivers share, one plain record per thing, in copy order. Leases
// are left out: all gateways are stopped during a copy, so a leased lane counts as free.

export const kinds = [
  "sessions",
  "entries",
  "rows",
  "turns",
  "deliveries",
  "lanes",
  "cells",
  "events",
  "counters",
] as const;
export type Kind = (typeof kinds)[number];

export type Value = null | boolean | number | string | readonly Value[] | { readonly [key: string]: Value };
export type Thing = { readonly [field: string]: Value };

interface Page {
  readonly things: readonly Thing[];
  /** Where the next page begins; null on the last page. */
  readonly next: string | null;
}

export interface MoveSide {
  readonly name: string;
  read(kind: Kind, from: string | null): Promise<Page>;
  /** Writing the same things again changes nothing. */
  write(kind: Kind, things: readonly Thing[]): Promise<void>;
  /** How far a copy into this store has come; null when no copy is under way. */
  progress(): Promise<string | null>;
  setProgress(text: string | null): Promise<void>;
  isEmpty(): Promise<boolean>;
  close(): Promise<void>;
}

export const moveCell = "move:progress";
/**
 * Cells that a process leaves behind after trying the store and makes anew, such as a one-time code or a
 * platform's menu.
 */
const ownPrefixes = ["leader:", "node:", "auth:code:", "menu:"];
/** True for cells that belong to running processes or to the copy itself. */
export const isOwnCell = (key: string): boolean =>
  key === moveCell || ownPrefixes.some((prefix) => key.startsWith(prefix));

/** Drops absent fields, so that both drivers' records compare equal. */
export function thing(fields: { readonly [field: string]: Value | undefined }): Thing {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(
        (entry): entry is [string, Value] =>
          entry[1] !== undefined && entry[1] !== null && entry[1] !== false,
      )
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** A name as text; names are texts or numbers. */
export function nameOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "bigint"
    ? `${value}`
    : "";
}
