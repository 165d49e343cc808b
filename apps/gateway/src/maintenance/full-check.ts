// After an unclean stop the quick check lets the daemon start; the full one runs beside it, and what it finds
// shows in the status until a person acts. The data is not touched: whether to restore is theirs to decide.
import { isFault, type Log } from "@parley/protocol";
import type { DatabaseJobs } from "./database-jobs.ts";

/** Returns the reason to show; null while all is well or not known yet. */
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
      // A file that cannot be read to its end is damaged too; everything else is worth a line and no alarm.
      if (isFault(error, "invalid")) reason = error.message;
      log.warn({ path, error }, "the full check of the database did not end");
    },
  );
  return () => reason;
}
