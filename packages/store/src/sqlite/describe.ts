// What an operator's doctor asks of a database file, without changing it.
import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openFault } from "./failure.ts";
import { checkedVersion } from "./migrate.ts";
import { migrations } from "./schema.ts";
import { query } from "./statements.ts";

export interface DatabaseDescription {
  readonly bytes: number;
  /** Size of the write-ahead log beside it. */
  readonly walBytes: number;
  readonly schema: number;
  /** What this Parley would bring it to. */
  readonly newestSchema: number;
  /** What the check found wrong; empty when it is sound. At most 20 findings. */
  readonly findings: readonly string[];
}

/**
 * `full` checks every index entry (seconds per gigabyte); otherwise only the pages' structure.
 * Throws Fault("invalid" | "unsupported" | "unavailable") when the file cannot be opened, is not ours, or is newer.
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
