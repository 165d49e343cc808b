// Tries on a copy what a start would do to a database of an older or newer Parley.
import { copyFileSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describeDatabase } from "./describe.ts";
import { openFault } from "../failure.ts";
import { checkedVersion, migrate } from "../migrate.ts";

/**
 * Brings a copy of `from` at `scratch` to this build's schema and checks it in full; returns what is wrong
 * with it. The copy is removed. Throws Fault("unsupported") when a newer Parley wrote it.
 */
export function rehearseMigration(from: string, scratch: string): readonly string[] {
  try {
    copyFileSync(from, scratch);
    const db = new DatabaseSync(scratch, { timeout: 5000 });
    try {
      migrate(db, from);
    } catch (error) {
      throw openFault(from, error);
    } finally {
      db.close();
    }
    return describeDatabase(scratch, { full: true }).findings;
  } finally {
    for (const side of ["", "-wal", "-shm", "-journal"]) rmSync(scratch + side, { force: true });
  }
}

/** The schema of the file. Throws as `describeDatabase` does; reads nothing but its first page. */
export function databaseSchema(path: string): number {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
    return checkedVersion(db, path);
  } catch (error) {
    throw openFault(path, error);
  } finally {
    db?.close();
  }
}
