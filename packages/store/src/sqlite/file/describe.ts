// Describes a database file for an operator's doctor, without changing it.
import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openFault } from "../failure.ts";
import { checkedVersion } from "../migrate.ts";
import { migrations } from "../schema.ts";
import { query } from "../statements.ts";

export interface DatabaseDescription {
  readonly bytes: number;
  /** Bytes of the write-ahead log beside the file. */
  readonly walBytes: number;
  readonly schema: number;
  /** Schema version to which this build would migrate it. */
  readonly newestSchema: number;
  /** Problems that the check found, at most 20; empty for a sound file. */
  readonly findings: readonly string[];
}

/**
 * `full` checks every index entry (seconds per gigabyte), otherwise only the structure of the pages. Throws
 * Fault("unavailable") when the file cannot be opened, "invalid" when it is not ours, "unsupported" when it
 * is newer.
 */
export function describeDatabase(path: string, options: { readonly full: boolean }): DatabaseDescription {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
    const schema = checkedVersion(db, path);
    const check = options.full ? "integrity_check" : "quick_check";
    const found = query<{ readonly [check: string]: string }>(db, `pragma ${check}(20)`).all();
    return {
      bytes: statSync(path).size,
      walBytes: existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0,
      schema,
      newestSchema: migrations.length,
      findings: found.map((row) => row[check] ?? "").filter((finding) => finding !== "ok"),
    };
  } catch (error) {
    throw openFault(path, error);
  } finally {
    db?.close();
  }
}
