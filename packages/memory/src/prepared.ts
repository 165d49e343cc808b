// Keeps the statements of each open index, because a search or a slice of work runs the same ones many times.
import type { DatabaseSync, StatementSync } from "node:sqlite";

const kept = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** Only for texts that are written in the sources, of which there are few. */
export function prepared(db: DatabaseSync, sql: string): StatementSync {
  const known = kept.get(db) ?? new Map<string, StatementSync>();
  kept.set(db, known);
  const statement = known.get(sql) ?? db.prepare(sql);
  known.set(sql, statement);
  return statement;
}
