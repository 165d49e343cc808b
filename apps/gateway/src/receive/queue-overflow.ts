// Decides what a new message does to older ones: in interrupt mode it replaces the running turn, and a full
// queue is cut as the session wants. Nobody's message touches another person's turn (DESIGN 4's rule of one
// authority).
import { type ConversationKey, parseRowPayload } from "@parley/protocol";
import type { Accepted, Inbox, NewRow, RowView } from "@parley/store";
import { type DroppedLog, interrupted, type QueueSettings } from "@parley/runner";

export type QueueOverflow = (row: NewRow, accepted: Accepted, settings: QueueSettings) => Promise<void>;

/** Far more than one turn takes. */
const mostClaimed = 1_000;

/** `onStopped` is called with each turn that has to end. */
export function queueOverflow(
  inbox: Inbox,
  dropped: Pick<DroppedLog, "add">,
  onStopped: (turn: string) => void,
): QueueOverflow {
  async function interrupt(row: NewRow, { seq }: Accepted): Promise<void> {
    const isKin = (other: RowView): boolean =>
      other.conversation === row.conversation && other.authority === row.authority;
    const claimed = await inbox.find({ lane: row.lane, state: "claimed", limit: mostClaimed });
    const turn = claimed.find(isKin)?.turn ?? null;
    // The idle lane has taken the message already, or a later one: its own rows and older ones must not end
    // the turn.
    if (turn === null || claimed.some((other) => other.seq >= seq)) return;
    const waiting = await inbox.find({ lane: row.lane, state: "waiting", limit: mostClaimed });
    // A waiting /new stays: a newer message cannot replace it.
    const older = waiting.filter((other) => isKin(other) && other.seq < seq && isTalk(other));
    const [stopped] = await Promise.all([
      // Meanwhile the turn may have taken the message: it would end with it, and nobody would answer.
      inbox.stop(row.lane, { turn, unless: row.id, reason: interrupted }),
      inbox.stop(row.lane, {
        rows: { ids: older.map((other) => other.id) },
        outcome: "superseded",
        reason: interrupted,
      }),
    ]);
    if (stopped.turn !== null) onStopped(stopped.turn);
  }

  return async (row, accepted, settings) => {
    if (settings.mode === "interrupt") return interrupt(row, accepted);
    // "summarize" keeps every row: the turn that takes them shortens the oldest to one line each.
    if (accepted.waiting <= settings.cap || settings.drop === "summarize") return;
    const rows = await surplus(row, settings);
    if (rows.length === 0) return;
    const reason = `the queue holds ${settings.cap} (drop: ${settings.drop})`;
    const stopped = await inbox.stop(row.lane, {
      rows: { ids: rows.map(({ id }) => id) },
      outcome: "superseded",
      reason,
    });
    const gone = rows.filter(({ id }) => stopped.rows.includes(id));
    for (const conversation of new Set(gone.map((each) => each.conversation as ConversationKey))) {
      const here = gone.filter((each) => each.conversation === conversation);
      await dropped.add(conversation, { count: here.length, isOwed: here.some(isAddressed) });
    }
  };

  /**
   * A waiting /new stays here too: messages before it must not be answered in the new conversation, nor later
   * ones in the old.
   */
  async function surplus({ lane }: NewRow, { cap, drop }: QueueSettings): Promise<readonly RowView[]> {
    const waiting = await inbox.find({ lane, state: "waiting", limit: mostClaimed });
    const talk = waiting.filter(isTalk).toSorted((a, b) => a.seq - b.seq);
    const excess = Math.max(0, waiting.filter((row) => !isInternal(row)).length - cap);
    return drop === "old" ? talk.slice(0, excess) : talk.slice(Math.max(0, talk.length - excess));
  }
}

function isAddressed({ payload }: RowView): boolean {
  return parseRowPayload(payload).inbound.addressed;
}

/** People's words. What Parley wrote itself ends something that waits, and nobody writes it again. */
function isTalk(row: RowView): boolean {
  return parseRowPayload(row.payload).command === undefined && !isInternal(row);
}

function isInternal({ payload }: RowView): boolean {
  return parseRowPayload(payload).internal !== undefined;
}
