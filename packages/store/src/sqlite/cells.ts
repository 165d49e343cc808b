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
  /** Also of a cell that is past its time. */
  version(key: string): number | undefined;
  put(key: string, value: string, how: { readonly expect?: number; readonly ttlMs?: number }): Cell | null;
  remove(key: string, version?: number): boolean;
  /** Moves the expiry; false unless it has this version. */
  renew(key: string, version: number, ttlMs: number): boolean;
  /**
   * Throws Fault("conflict") when an expected version differs; the caller's savepoint then undoes earlier
   * writes.
   */
  write(writes: readonly CellWrite[]): void;
}

export function cellTable({ db, clock, memory }: Scope): CellTable {
  const select = query<CellRecord>(db, "select * from cells where key = ?");
  const raiseVersion = query<{ readonly n: number }>(
    db,
    "update counters set n = n + ? where name = 'cell' returning n",
  );
  const upsert = query(db, "insert or replace into cells (key, value, version, expires) values (?, ?, ?, ?)");
  const erase = query(db, "delete from cells where key = ?");
  const extend = query(
    db,
    "update cells set expires = ? where key = ? and version = ? and (expires is null or expires > ?)",
  );

  const remembered = memory.of<CellRecord>();

  const recordOf = (key: string): CellRecord | null => {
    const known = remembered.get(key);
    return known === undefined ? remembered.keep(key, select.get(key) ?? null) : known;
  };
  const get = (key: string): Cell | null => {
    const found = recordOf(key);
    return found === null || isOver(found, clock.now()) ? null : cellOf(found);
  };
  const isAsExpected = (key: string, expect: number | undefined): boolean =>
    expect === undefined || (get(key)?.version ?? 0) === expect;

  /** The first of so many versions that nobody else gets. */
  const versions = (count: number): number => (raiseVersion.get(count)?.n ?? 0) - count + 1;
  const store = (key: string, value: string, version: number, ttlMs: number | undefined): Cell => {
    const expires = ttlMs === undefined ? null : clock.now() + ttlMs;
    upsert.run(key, value, version, expires);
    const record = { key, value, version, expires };
    remembered.keep(key, record);
    return cellOf(record);
  };
  const put: CellTable["put"] = (key, value, { expect, ttlMs }) =>
    isAsExpected(key, expect) ? store(key, value, versions(1), ttlMs) : null;
  const remove: CellTable["remove"] = (key, version) => {
    const found = get(key);
    if (found === null || (version !== undefined && found.version !== version)) return false;
    remembered.forget(key);
    return erase.run(key) === 1;
  };

  return {
    get,
    version: (key) => recordOf(key)?.version,
    put,
    remove,
    write(writes) {
      const puts = writes.filter(({ value }) => value !== null).length;
      let version = puts === 0 ? 0 : versions(puts);
      for (const { key, value, ttlMs, expect } of writes) {
        if (!isAsExpected(key, expect))
          throw new Fault("conflict", `the cell ${key} is not at version ${expect} any more`);
        if (value === null) remove(key);
        else store(key, value, version++, ttlMs);
      }
    },
    renew(key, version, ttlMs) {
      const now = clock.now();
      remembered.forget(key);
      return extend.run(now + ttlMs, key, version, now) === 1;
    },
  };
}

export function sqliteCells({ db, clock, tx }: Scope, table: CellTable): Cells {
  const list = query<CellRecord>(
    db,
    // The range finds the prefix in key order; U+10FFFF is the highest character.
    "select * from cells where key >= ?1 and key < ?1 || char(1114111) and (expires is null or expires > ?2) order by key limit ?3",
  );
  return {
    get: (key) => tx.read(() => table.get(key)),
    put: (key, value, how) => tx.run(() => table.put(key, value, how)),
    touch: (key, version, ttlMs) => tx.run(() => table.renew(key, version, ttlMs)),
    remove: (key, version) => tx.run(() => table.remove(key, version)),
    list: (prefix, limit) => tx.read(() => list.all(prefix, clock.now(), limit).map(cellOf)),
  };
}

function isOver({ expires }: CellRecord, now: number): boolean {
  return expires !== null && expires <= now;
}

function cellOf({ key, value, version, expires }: CellRecord): Cell {
  return { key, value, version, expiresAtMs: expires };
}
