// Finds the rows behind a delivery's cause: the rows of the turn that said it, or the one row that it answers
// at once.
import type { Log } from "@parley/protocol";
import type { Inbox } from "@parley/store";

const mostRows = 200;

/** For the log only, so it never rejects: a slow store must not keep an answer from going out. */
export function causeRows(
  inbox: Pick<Inbox, "find">,
  log: Log,
): (cause: string) => Promise<readonly string[]> {
  return async (cause) => {
    try {
      const rows = await inbox.find({ turn: cause, dismissed: true, limit: mostRows });
      if (rows.length === 0) return [cause];
      return rows.flatMap(({ id, outcome }) => (outcome === "context" ? [] : [id])).toReversed();
    } catch (error) {
      log.debug({ cause, error }, "could not look up the rows of a delivery");
      return [cause];
    }
  };
}
