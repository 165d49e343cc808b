// The identity of a database: drawn when the store is made, kept in every copy of it. A home that remembers it notices that its store was
// taken away, emptied or exchanged, instead of beginning anew without a word.
import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "@parley/protocol";
import type { ExpectedStore } from "../store.ts";
import { openFault } from "./failure.ts";
import { query } from "./statements.ts";

type Readable = Pick<DatabaseSync, "prepare">;

/** Null for a database of before there were identities, and for an empty file. */
export function identityIn(db: Readable): string | null {
  const has = db.prepare("select 1 from sqlite_schema where name = 'identity'").get() !== undefined;
  if (!has) return null;
  return (
    query<{ readonly id: string }>(db as DatabaseSync, "select id from identity where rowid = 1").get()?.id ??
    null
  );
}

/** Of a file that nobody needs to have open. Throws Fault when it cannot be read. */
export function databaseIdentity(path: string): string | null {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 100 });
    return identityIn(db);
  } catch (error) {
    throw openFault(path, error);
  } finally {
    db?.close();
  }
}

/** Before anything is made or written. Throws Fault("conflict") where the store that is remembered is not there. */
export function refuseOther(path: string, { identity, advice }: ExpectedStore): void {
  const what = whatIsWrong(path, identity);
  if (what !== null)
    throw new Fault("conflict", `${path} ${what}, but this folder has had a store: ${advice}`);
}

function whatIsWrong(path: string, identity: string): string | null {
  if (!existsSync(path)) return "is missing";
  if (statSync(path).size === 0) return "is empty";
  // A file of an older schema has none, and the store that is remembered has one for certain.
  return databaseIdentity(path) === identity ? null : "is another store than before";
}
