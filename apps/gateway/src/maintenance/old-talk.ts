// Finds conversations whose last words are older than an age, and removes them for good: those before a /new,
// and sessions in which nobody has spoken since. What a session is at work on is never touched.
import type { Entry, SessionKey } from "@parley/protocol";
import type { Session, Store } from "@parley/store";
import { begunAt } from "../receive/reset-policy.ts";

type TalkStore = Pick<Store, "sessions" | "inbox">;

export interface OldTalk {
  readonly key: SessionKey;
  /** The current one. */
  readonly epoch: number;
  /** Everything before this epoch goes; null: all of the session. */
  readonly before: number | null;
  /** Whose last words are younger stays. */
  readonly beforeMs: number;
}

const mostSessions = 100_000;
/** Of one session in one look: a job's own session has one for every run. */
const epochsLookedAt = 2_000;
/** So many in a row without a word: what was before them went already. */
const emptyInARow = 100;
const entriesAtOnce = 1_000;
/** Whoever deletes entries records it there; what was read of the session before is then forgotten, too. */
const forgottenField = "forgotten";

/** `prefix`: of the sessions' keys; absent: all. */
export async function* oldTalk(store: TalkStore, beforeMs: number, prefix?: string): AsyncGenerator<OldTalk> {
  const which = prefix === undefined ? {} : { prefix };
  for (const session of await store.sessions.list({ ...which, limit: mostSessions })) {
    const { key, epoch, createdAtMs } = session;
    if (createdAtMs >= beforeMs) continue;
    const last = await lastWordsMs(store, key, epoch);
    if (last !== null && last < beforeMs) {
      if (!(await isBusy(store, key))) yield { key, epoch, before: null, beforeMs };
    } else {
      const before = await endedBefore(store, session, beforeMs);
      if (before !== null && !(await isBusy(store, key))) yield { key, epoch, before, beforeMs };
    }
  }
}

/** Returns the number of entries that went: none where somebody came back to the session meanwhile. */
export async function removeTalk(
  store: TalkStore,
  { key, epoch, before, beforeMs }: OldTalk,
  nowMs: number,
): Promise<number> {
  if (await isBusy(store, key)) return 0;
  if (before === null) {
    // All that goes is looked for before the first of it goes: a turn may have begun and ended since.
    const now = await store.sessions.open(key);
    const last = await lastWordsMs(store, key, now.epoch);
    if (now.epoch !== epoch || last === null || last >= beforeMs) return 0;
    const { entries } = await store.sessions.forget(key, forgottenField);
    await store.sessions.patch(key, begunAt(nowMs));
    return entries;
  }
  const entries = await store.sessions.trim(key, before);
  if (entries > 0) await store.sessions.patch(key, { [forgottenField]: { atMs: nowMs, entries } });
  return entries;
}

/** Counts what `removeTalk` would remove. */
export async function countTalk(
  { sessions }: Pick<TalkStore, "sessions">,
  { key, epoch: current, before }: OldTalk,
): Promise<number> {
  let count = 0;
  let empty = 0;
  for (let epoch = (before ?? current + 1) - 1; epoch >= 1 && empty < emptyInARow; epoch -= 1) {
    let inEpoch = 0;
    for (let afterSeq = 0; ;) {
      const found = await sessions.transcript(key, { epoch, afterSeq, limit: entriesAtOnce });
      inEpoch += found.length;
      afterSeq = found.at(-1)?.seq ?? afterSeq;
      if (found.length < entriesAtOnce) break;
    }
    empty = inEpoch === 0 ? empty + 1 : 0;
    count += inEpoch;
  }
  return count;
}

/** The first epoch after the newest one whose last words are too old; null where there is none. */
async function endedBefore(
  store: TalkStore,
  { key, epoch: current }: Session,
  beforeMs: number,
): Promise<number | null> {
  let empty = 0;
  const least = Math.max(1, current - epochsLookedAt);
  for (let epoch = current - 1; epoch >= least && empty < emptyInARow; epoch -= 1) {
    const last = await lastWordsMs(store, key, epoch);
    if (last !== null && last < beforeMs) return epoch + 1;
    empty = last === null ? empty + 1 : 0;
  }
  return null;
}

/** A parked turn holds its rows, too. */
async function isBusy({ inbox }: Pick<TalkStore, "inbox">, lane: SessionKey): Promise<boolean> {
  for (const state of ["claimed", "waiting"] as const)
    if ((await inbox.find({ lane, state, limit: 1 })).length > 0) return true;
  return false;
}

async function lastWordsMs(
  { sessions }: Pick<TalkStore, "sessions">,
  key: SessionKey,
  epoch: number,
): Promise<number | null> {
  const [last] = await sessions.transcript(key, { epoch, newest: true, limit: 1 });
  return last === undefined ? null : (JSON.parse(last.body) as Entry).atMs;
}
