// Finds the rows behind a delivery's cause: the rows of the turn that said it, or the one row that it answers
// at once.
import type { ConversationKey, Log } from "@parley/protocol";
import type { Inbox } from "@parley/store";

export interface CauseRow {
  readonly id: string;
  /** Where its answer goes; null when the row is not there any more. */
  readonly conversation: ConversationKey | null;
}

const mostRows = 200;

/** For the log only, so it never rejects: a slow store must not keep an answer from going out. */
export function causeRows(
  inbox: Pick<Inbox, "find">,
  log: Log,
): (cause: string) => Promise<readonly CauseRow[]> {
  return async (cause) => {
    try {
      const rows = await inbox.find({ turn: cause, dismissed: true, limit: mostRows });
      if (rows.length === 0) return [{ id: cause, conversation: null }];
      return rows
        .flatMap(({ id, outcome, conversation }) => (outcome === "context" ? [] : [{ id, conversation }]))
        .toReversed();
    } catch (error) {
      log.debug({ cause, error }, "could not look up the rows of a delivery");
      return [{ id: cause, conversation: null }];
    }
  };
}

/**
 * The rows that a delivery answers. What a turn sends elsewhere answers nothing there, and a platform would
 * put it where it was asked.
 */
export function answeredIn(rows: readonly CauseRow[], lane: ConversationKey): readonly string[] {
  return rows.flatMap(({ id, conversation }) => (conversation === null || conversation === lane ? [id] : []));
}
