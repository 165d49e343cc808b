// Notes what this account has accepted, so that the next connection, also of the next process, continues from
// there: the session with its sequence, and the recently used conversations.
import type { Clock, Log } from "@parley/protocol";
import type { Dispatch, Session } from "./connection.ts";
import type { Accepted } from "./intake.ts";
import {
  type DiscordMemory,
  recall,
  type SessionNote,
  sessionSchema,
  type Watched,
  watchedSchema,
} from "./memory.ts";
import type { Read } from "./reader.ts";
import { idAt, newerId } from "./snowflake.ts";
import { type Gap, gapAfter, gapBefore } from "./missed-channels.ts";

export interface Self {
  readonly user: string;
  readonly application: string;
}

export interface ResumeState {
  load(): Promise<void>;
  /** The session that a new process resumes; null when there is none. */
  session(): Session | null;
  identifiedAtMs(): number;
  /** Starts a new session with READY's facts about the bot. */
  identified(self: Self, atMs: number, ready: unknown): void;
  /** The gap before this session, while some of it is still to be found. */
  gap(): Gap | undefined;
  /** Null before the first session. */
  self(): Self | null;
  /** Null before the first message. */
  lastMessageId(): string | null;
  conversations(): readonly Watched[];
  accepted(batch: Pick<Accepted, "dispatches" | "reads">): Promise<void>;
}

const mostConversations = 200;
const watchedForMs = 7 * 86_400_000;
/** A conversation's time is noted this coarsely, so that most messages write one small note. */
const coarseMs = 3_600_000;
const unknown: SessionNote = {
  id: null,
  user: "",
  application: "",
  resumeUrl: "",
  sequence: 0,
  lastMessageId: null,
  identifiedAtMs: 0,
};

export function resumeState(memory: DiscordMemory, clock: Clock, log: Log): ResumeState {
  let note = unknown;
  const conversations = new Map<string, Watched>();

  const see = ({ channel, guild, user }: NonNullable<Read["seen"]>): boolean => {
    const nowMs = clock.now();
    const known = conversations.get(channel);
    if (known !== undefined && nowMs - known.seenAtMs < coarseMs) return false;
    conversations.delete(channel);
    conversations.set(channel, {
      channel,
      ...(guild === undefined ? {} : { guild }),
      ...(user === undefined ? {} : { user }),
      seenAtMs: nowMs,
    });
    for (const [key, { seenAtMs }] of conversations)
      if (conversations.size > mostConversations || nowMs - seenAtMs > watchedForMs)
        conversations.delete(key);
    return true;
  };

  return {
    async load() {
      note = (await recall(memory, "session", sessionSchema, log)) ?? unknown;
      for (const one of (await recall(memory, "watched", watchedSchema, log)) ?? [])
        conversations.set(one.channel, one);
    },
    session: () =>
      note.id === null ? null : { id: note.id, resumeUrl: note.resumeUrl, sequence: note.sequence },
    identifiedAtMs: () => note.identifiedAtMs,
    identified(self, atMs, ready) {
      const since = note.lastMessageId ?? (note.identifiedAtMs > 0 ? idAt(note.identifiedAtMs) : null);
      note = { ...note, ...self, identifiedAtMs: atMs, gap: gapBefore(ready, since) };
    },
    gap: () => note.gap,
    self: () => (note.user === "" ? null : { user: note.user, application: note.application }),
    lastMessageId: () => note.lastMessageId,
    conversations: () => [...conversations.values()],
    async accepted({ dispatches, reads }) {
      const before = note;
      note = {
        ...note,
        ...reached(dispatches),
        lastMessageId: newest(note.lastMessageId, reads),
        gap: gapAfter(dispatches, note.gap),
      };
      const changed = reads.map(({ seen }) => seen !== undefined && see(seen)).includes(true);
      await Promise.all([
        note === before ? undefined : memory.save("session", JSON.stringify(note)),
        changed ? memory.save("watched", JSON.stringify([...conversations.values()])) : undefined,
      ]);
    },
  };
}

/** The newest place in a session; null when the gateway dispatched none of these. */
function reached(dispatches: readonly Dispatch[]): Pick<SessionNote, "id" | "resumeUrl" | "sequence"> | null {
  const last = dispatches.findLast(({ sequence }) => sequence !== null);
  return last === undefined
    ? null
    : { id: last.session.id, resumeUrl: last.session.resumeUrl, sequence: last.sequence ?? 0 };
}

function newest(before: string | null, reads: Accepted["reads"]): string | null {
  return reads.reduce(
    (id, { seen }) => (seen === undefined ? id : id === null ? seen.message : newerId(id, seen.message)),
    before,
  );
}
