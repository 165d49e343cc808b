// Checks the whole database beside the running daemon after an unclean stop; the quick check alone lets the
// daemon start. Findings show in the status until a person acts. The data is not touched: restoring is the
// operator's decision.
import { isFault, type Log } from "@parley/protocol";
import type { DatabaseJobs } from "./database-jobs.ts";

/** Returns a function that gives the reason to show; null while nothing is wrong or known yet. */
export function fullCheck(jobs: Pick<DatabaseJobs, "check">, path: string, log: Log): () => string | null {
  let reason: string | null = null;
  const advice = "stop Parley and put a backup in its place with `parley restore <file>`";
  jobs.check(path).then(
    ([finding, ...more]) => {
      if (finding === undefined) return log.info({ path }, "the database passed the full check");
      reason = `${path} is damaged (${finding}): ${advice}`;
      return log.error({ path, findings: [finding, ...more] }, "the database is damaged");
    },
    (error: unknown) => {
      if (isFault(error, "aborted")) return;
      // A file that cannot be read to its end is damaged too; other failures are only logged.
      if (isFault(error, "invalid")) reason = error.message;
      log.warn({ path, error }, "the full check of the database did not end");
    },
  );
  return () => reason;
}
