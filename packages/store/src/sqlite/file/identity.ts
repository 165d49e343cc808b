// The identity of a database: drawn when the store is created and kept in every copy. A home that remembers
// it notices when its store was taken away, emptied or exchanged, and does not silently start over.
import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "@parley/protocol";
import type { ExpectedStore } from "../../store.ts";
import { openFault } from "../failure.ts";
import { query } from "../statements.ts";

type Readable = Pick<DatabaseSync, "prepare">;

/** Null for an empty file and for databases from before identities. */
export function identityIn(db: Readable): string | null {
  const has = db.prepare("select 1 from sqlite_schema where name = 'identity'").get() !== undefined;
  if (!has) return null;
  return (
    query<{ readonly id: string }>(db as DatabaseSync, "select id from identity where rowid = 1").get()?.id ??
    null
  );
}

/** Reads the identity of a file that need not be open. Throws Fault when the file cannot be read. */
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

/**
 * Runs before anything is created or written. Throws Fault("conflict") when the remembered store is not
 * there.
 */
export function refuseOther(path: string, { identity, advice }: ExpectedStore): void {
  const what = whatIsWrong(path, identity);
  if (what !== null)
    throw new Fault("conflict", `${path} ${what}, but this folder has had a store: ${advice}`);
}

function whatIsWrong(path: string, identity: string): string | null {
  if (!existsSync(path)) return "is missing";
  if (statSync(path).size === 0) return "is empty";
  // A file of an older schema has no identity, but the remembered store certainly has one.
  return databaseIdentity(path) === identity ? null : "is another store than before";
}
