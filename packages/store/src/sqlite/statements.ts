// Typed prepared statements, each prepared once per handle, where its port is built.
import type { DatabaseSync, SQLInputValue } from "node:sqlite";

export interface Query<R> {
  get(...values: readonly SQLInputValue[]): R | undefined;
  all(...values: readonly SQLInputValue[]): readonly R[];
  /** Returns the number of changed rows. */
  run(...values: readonly SQLInputValue[]): number;
}

/**
 * `R` declares the columns; SQLite does not check it, the tests do. SQLite plans by the value of a bare
 * `limit ?` and so compiles the statement anew at every call, which costs ten times its run; it does not look
 * through a sign.
 */
export function query<R = never>(db: DatabaseSync, sql: string): Query<R> {
  const statement = db.prepare(sql.replaceAll(/\blimit \?/g, "limit +?"));
  return {
    get: (...values) => statement.get(...values) as R | undefined,
    all: (...values) => statement.all(...values) as unknown as readonly R[],
    run: (...values) => Number(statement.run(...values).changes),
  };
}

/**
 * Runs the words that open and close transactions, each prepared when first needed; others as they are.
 */
export function transactionWords(db: DatabaseSync): (sql: string) => void {
  const prepared = new Map<string, { run(): unknown }>();
  return (sql) => {
    if (sql.includes(";")) return db.exec(sql);
    let word = prepared.get(sql);
    if (word === undefined) prepared.set(sql, (word = db.prepare(sql)));
    word.run();
  };
}

/**
 * For operators' lists, whose SQL depends on the filter: each of the few forms is prepared when first needed.
 */
export function queryShapes<R>(db: DatabaseSync): (sql: string) => Query<R> {
  const prepared = new Map<string, Query<R>>();
  return (sql) => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const fresh = query<R>(db, sql);
    prepared.set(sql, fresh);
    return fresh;
  };
}
