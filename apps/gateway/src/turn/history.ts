// The part of a session that a model is shown: the newest entries of the epoch the turn was opened in, back to an anchor that moves rarely,
// because every move costs the provider's cache. The transcript itself is never touched (I11).
import type { Entry, SessionKey } from "@parley/protocol";
import type { Session, Sessions } from "@parley/store";

export interface History {
  readonly entries: readonly Entry[];
  /** Session fields to write when the anchor moved. */
  readonly patch: { readonly [field: string]: number };
}

/** When a view has grown to this many entries, its anchor moves so that `kept` remain. */
const most = 400;
const kept = 200;
const anchorField = "historyAfterSeq";

export async function sessionHistory(sessions: Sessions, session: Session, epoch: number): Promise<History> {
  const anchor = session.fields[anchorField];
  const afterSeq = typeof anchor === "number" ? anchor : 0;
  const stored = await sessions.transcript(session.key as SessionKey, { epoch, afterSeq, newest: true, limit: most });
  if (stored.length < most) return { entries: stored.map(entryOf), patch: {} };
  const start = turnStart(stored.map(entryOf), stored.length - kept);
  const before = stored[start - 1];
  return { entries: stored.slice(start).map(entryOf), patch: before === undefined ? {} : { [anchorField]: before.seq } };
}

/** The first entry at or after `from` that begins a turn: a view must not begin between a call and its result. */
function turnStart(entries: readonly Entry[], from: number): number {
  const found = entries.findIndex((entry, index) => index >= from && entry.type === "user");
  return found < 0 ? from : found;
}

function entryOf(stored: { readonly body: string }): Entry {
  return JSON.parse(stored.body) as Entry;
}
