// Cells on SQLite: small versioned values with expiry. One counter gives all versions, so those of a key grow
// over deletion and expiry, and the version of `leader:<pool>` is a fencing term.
import { Fault } from "@parley/protocol";
import type { Cell, Cells, CellWrite } from "../store.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";

interface CellRecord {
  readonly key: string;
  readonly value: string;
  readonly version: number;
  readonly expires: number | null;
}

/** Cell access for other verbs inside their own transaction. */
export interface CellTable {
  get(key: string): Cell | null;
  put(key: string, value: string, how: { readonly expect?: number; readonly ttlMs?: number }): Cell | null;
  remove(key: string, version?: number): boolean;
  /**
   * Throws Fault("conflict") when an expected version differs; the caller's savepoint then undoes earlier
   * writes.
   */
  write(writes: readonly CellWrite[]): void;
}

export function cellTable({ db, clock }: Scope): CellTable {
  const select = query<CellRecord>(
    db,
    "select * from cells where key = ? and (expires is null or expires > ?)",
  );
  const nextVersion = query<{ readonly n: number }>(
    db,
    "update counters set n = n + 1 where name = 'cell' returning n",
  );
  const upsert = query(db, "insert or replace into cells (key, value, version, expires) values (?, ?, ?, ?)");
  const erase = query(db, "delete from cells where key = ?");

  const get = (key: string): Cell | null => {
    const found = select.get(key, clock.now());
    return found === undefined ? null : cellOf(found);
  };
  const isAsExpected = (key: string, expect: number | undefined): boolean =>
    expect === undefined || (get(key)?.version ?? 0) === expect;

  const put: CellTable["put"] = (key, value, { expect, ttlMs }) => {
    if (!isAsExpected(key, expect)) return null;
    const version = nextVersion.get()?.n ?? 0;
    const expiresAtMs = ttlMs === undefined ? null : clock.now() + ttlMs;
    upsert.run(key, value, version, expiresAtMs);
    return { key, value, version, expiresAtMs };
  };
  const remove: CellTable["remove"] = (key, version) => {
    const found = get(key);
    if (found === null || (version !== undefined && found.version !== version)) return false;
    return erase.run(key) === 1;
  };

  return {
    get,
    put,
    remove,
    write(writes) {
      for (const { key, value, ttlMs, expect } of writes) {
        if (!isAsExpected(key, expect))
          throw new Fault("conflict", `the cell ${key} is not at version ${expect} any more`);
        if (value === null) remove(key);
        else put(key, value, ttlMs === undefined ? {} : { ttlMs });
      }
    },
  };
}

export function sqliteCells({ db, clock, tx }: Scope, table: CellTable): Cells {
  const renew = query(
    db,
    "update cells set expires = ? where key = ? and version = ? and (expires is null or expires > ?)",
  );
  const list = query<CellRecord>(
    db,
    // The range finds the prefix in key order; U+10FFFF is the highest character.
    "select * from cells where key >= ?1 and key < ?1 || char(1114111) and (expires is null or expires > ?2) order by key limit ?3",
  );
  return {
    get: (key) => tx.read(() => table.get(key)),
    put: (key, value, how) => tx.run(() => table.put(key, value, how)),
    touch: (key, version, ttlMs) =>
      tx.run(() => renew.run(clock.now() + ttlMs, key, version, clock.now()) === 1),
    remove: (key, version) => tx.run(() => table.remove(key, version)),
    list: (prefix, limit) => tx.read(() => list.all(prefix, clock.now(), limit).map(cellOf)),
  };
}

function cellOf({ key, value, version, expires }: CellRecord): Cell {
  return { key, value, version, expiresAtMs: expires };
}
