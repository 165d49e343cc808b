// Migrates a file to the newest schema. Each migration is one transaction with its version number, so a crash
// leaves the old version or the new one. Refuses other programs' files and those of a newer Parley.
import { Fault } from "@parley/protocol";
import { applicationId, migrations as known } from "./schema.ts";

/** The part of a connection that a migration needs; tests pass in one that dies at a chosen statement. */
export interface Migratable {
  exec(sql: string): void;
  prepare(sql: string): { get(): unknown };
  readonly isTransaction: boolean;
}

/**
 * `path` is for messages only. Throws Fault("unsupported") for a newer schema, Fault("invalid") for another
 * program's file.
 */
export function migrate(
  db: Migratable,
  path: string,
  migrations: readonly (readonly string[])[] = known,
): void {
  for (;;) {
    db.exec("begin immediate");
    try {
      const version = checkedVersion(db, path, migrations.length);
      const next = migrations[version];
      if (next === undefined) return db.exec("commit");
      for (const statement of next) db.exec(statement);
      db.exec(`pragma application_id = ${applicationId}`);
      db.exec(`pragma user_version = ${version + 1}`);
      db.exec("commit");
    } catch (error) {
      if (db.isTransaction) db.exec("rollback");
      throw error;
    }
  }
}

/** The schema version of an open file, after checking that the file is ours and not newer than `newest`. */
export function checkedVersion(
  db: Pick<Migratable, "prepare">,
  path: string,
  newest: number = known.length,
): number {
  const version = pragma(db, "user_version");
  const application = pragma(db, "application_id");
  const isEmpty =
    version === 0 &&
    application === 0 &&
    db.prepare("select 1 from sqlite_schema limit 1").get() === undefined;
  if (!isEmpty && application !== applicationId) {
    throw new Fault(
      "invalid",
      `${path} belongs to another program: move it away, or set PARLEY_HOME to another folder`,
    );
  }
  if (version > newest) {
    const next = "start the Parley that wrote it, or restore a backup with `parley restore <file>`";
    throw new Fault("unsupported", `${path} has schema ${version} and this Parley knows ${newest}: ${next}`);
  }
  return version;
}

function pragma(db: Pick<Migratable, "prepare">, name: "user_version" | "application_id"): number {
  return (db.prepare(`pragma ${name}`).get() as { readonly [field: string]: number })[name] ?? 0;
}
