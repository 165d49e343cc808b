// What a store holds, in words that both drivers share: one plain record a thing, in the order in which they are copied. Leases are not among
// it: who copies has stopped every gateway, so a held lane is free.

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

export interface Page {
  readonly things: readonly Thing[];
  /** Where the next page begins; null after the last. */
  readonly next: string | null;
}

export interface MoveSide {
  readonly name: string;
  read(kind: Kind, from: string | null): Promise<Page>;
  /** Repeatable. */
  write(kind: Kind, things: readonly Thing[]): Promise<void>;
  /** How far a copy into this store has come; null when none is under way. */
  progress(): Promise<string | null>;
  setProgress(text: string | null): Promise<void>;
  isEmpty(): Promise<boolean>;
  close(): Promise<void>;
}

export const moveCell = "move:progress";
/** What a process that tried the store leaves behind and makes anew: a one-time code, the menu that a platform shows. */
const ownPrefixes = ["leader:", "node:", "auth:code:", "menu:"];
/** Names of cells that belong to running processes, or to the copy itself. */
export const isOwnCell = (key: string): boolean =>
  key === moveCell || ownPrefixes.some((prefix) => key.startsWith(prefix));

/** Without what is absent, so that both drivers' records are the same. */
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

/** Names are texts or numbers. */
export function nameOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "bigint"
    ? `${value}`
    : "";
}
