// Runs long work on the database file in a process of its own, so that a check of gigabytes does not block
// the daemon's event loop and a stop can end it at once. This file is the child's side; it answers with one
// JSON line.
import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { Fault, isFault, type FaultCode, type Ids } from "@parley/protocol";
import { backupDatabase, databaseSchema, describeDatabase, rehearseMigration } from "@parley/store";
import { sealFile } from "./sealed-file.ts";

export type JobAnswer =
  /** `check`: findings, empty when the file is sound. `backup`: size of the copy in bytes. */
  | { readonly ok: true; readonly findings: readonly string[]; readonly bytes: number }
  | { readonly ok: false; readonly code: FaultCode | "internal"; readonly message: string };

/**
 * `check <path>`, `backup <from> <to>` or `seal <from> <to>`, a backup by a passphrase. An update asks the
 * new version: `schema <path>`, refused when a newer one wrote it, and `rehearse <from> <scratch>`. Never
 * rejects.
 */
export async function databaseJob(
  [job, from = "", to = ""]: readonly string[],
  passphrase: () => Promise<string>,
  ids: Ids,
): Promise<JobAnswer> {
  try {
    if (job === "check") {
      const { findings, bytes } = describeDatabase(from, { full: true });
      return { ok: true, findings, bytes };
    }
    if (job === "schema") {
      databaseSchema(from);
      return { ok: true, findings: [], bytes: statSync(from).size };
    }
    if (job === "rehearse")
      return { ok: true, findings: rehearseMigration(from, to), bytes: statSync(from).size };
    if (job === "seal") await sealedBackup(from, to, await passphrase(), ids);
    else await backupDatabase(from, to);
    return { ok: true, findings: [], bytes: statSync(to).size };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, code: isFault(error) ? error.code : "internal", message };
  }
}

/** The open copy lies beside the sealed one meanwhile, mode 0600. */
export async function sealedBackup(from: string, to: string, passphrase: string, ids: Ids): Promise<void> {
  if (existsSync(to)) throw new Fault("conflict", `${to} exists already: choose another name for the backup`);
  const open = `${to}.open`;
  rmSync(open, { force: true });
  try {
    await backupDatabase(from, open);
    sealFile(open, `${to}.partial`, passphrase, ids);
    renameSync(`${to}.partial`, to);
  } finally {
    rmSync(open, { force: true });
    rmSync(`${to}.partial`, { force: true });
  }
}
