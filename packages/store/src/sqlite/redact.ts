// Rewrites what is stored of conversations, for somebody who wants something forgotten. It goes through
// every table that holds words, some records at a time, so that the daemon works on meanwhile; then no
// byte of the old words is left in the file.
import { query } from "./statements.ts";
import type { Scope } from "./scope.ts";

interface Place {
  readonly table: string;
  readonly key: string;
  readonly columns: readonly string[];
}

const places: readonly Place[] = [
  { table: "entries", key: "rowid", columns: ["body"] },
  { table: "rows", key: "seq", columns: ["payload", "reason"] },
  { table: "steps", key: "rowid", columns: ["body"] },
  { table: "parts", key: "rowid", columns: ["content", "receipt", "reason"] },
  { table: "events", key: "seq", columns: ["body"] },
  { table: "sessions", key: "key", columns: ["fields"] },
  { table: "cells", key: "key", columns: ["value"] },
];
const sliceRecords = 200;
/** Whoever remembers what a transcript said sees by it that it says something else now. */
export const markRewritten = `update sessions set fields = json_set(fields, '$.rewritten', coalesce(json_extract(fields, '$.rewritten'), 0) + 1)
  where key = (select lane from entries where rowid = ?)`;
/** Larger files are cleaned in place alone: packing one would hold the daemon for long. */
const packedPages = 65_536;

export function redactWith({ db, tx, memory }: Scope) {
  return async (change: (stored: string) => string | null): Promise<number> => {
    db.exec("pragma secure_delete = on");
    let changed = 0;
    const rewritten = query(db, markRewritten);
    for (const { table, key, columns } of places) {
      for (const column of columns) {
        const records = query<{ readonly k: string | number; readonly v: string | null }>(
          db,
          `select ${key} as k, ${column} as v from ${table} where ${key} > ? order by ${key} limit ${sliceRecords}`,
        );
        const put = query(db, `update ${table} set ${column} = ? where ${key} = ?`);
        for (let from: string | number | null = key === "key" ? "" : -1; from !== null;) {
          const after: string | number = from;
          from = await tx.run(() => {
            memory.clear();
            const found = records.all(after);
            for (const { k, v } of found) {
              const next = v === null ? null : change(v);
              if (next === null) continue;
              put.run(next, k);
              if (table === "entries") rewritten.run(k);
              changed += 1;
            }
            return found.length < sliceRecords ? null : (found.at(-1)?.k ?? null);
          });
        }
      }
    }
    leaveNoTrace(db);
    return changed;
  };
}

/** What was overwritten long ago may still stand in free pages and in the log of the last writes. */
export function leaveNoTrace(db: Scope["db"]): void {
  const { page_count: pages } = query<{ readonly page_count: number }>(db, "pragma page_count").get() ?? {
    page_count: 0,
  };
  if (pages <= packedPages) db.exec("vacuum");
  db.exec("pragma wal_checkpoint(truncate)");
}
