// Long work on the database file, in a process of its own: the daemon's event loop must not wait for a check
// of gigabytes, and a stop must be able to end it at once. This is the process's side; its answer is one JSON
// line.
import { statSync } from "node:fs";
import { isFault, type FaultCode } from "@parley/protocol";
import { backupDatabase, describeDatabase } from "@parley/store";

export type JobAnswer =
  /** `check`: what is wrong with the file; empty when it is sound. `backup`: size of the copy. */
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
