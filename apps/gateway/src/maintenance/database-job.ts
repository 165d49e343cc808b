// Runs long work on the database file in a process of its own, so that a check of gigabytes does not block
// the daemon's event loop and a stop can end it at once. This file is the child's side; it answers with one
// JSON line.
import { statSync } from "node:fs";
import { isFault, type FaultCode } from "@parley/protocol";
import { backupDatabase, describeDatabase } from "@parley/store";

export type JobAnswer =
  /** `check`: findings, empty when the file is sound. `backup`: size of the copy in bytes. */
  | { readonly ok: true; readonly findings: readonly string[]; readonly bytes: number }
  | { readonly ok: false; readonly code: FaultCode | "internal"; readonly message: string };

/** `check <path>` or `backup <from> <to>`. Never rejects. */
export async function databaseJob([job, from = "", to = ""]: readonly string[]): Promise<JobAnswer> {
  try {
    if (job === "check") {
      const { findings, bytes } = describeDatabase(from, { full: true });
      return { ok: true, findings, bytes };
    }
    await backupDatabase(from, to);
    return { ok: true, findings: [], bytes: statSync(to).size };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, code: isFault(error) ? error.code : "internal", message };
  }
}
