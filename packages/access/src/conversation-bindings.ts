// Remembers conversations whose messages belong to another session than their address says: a person handed
// the talk over to another channel, or a sub-agent works in a thread of its own. Cells hold it before the
// first message is accepted; memory answers, because every message asks. A hand-over holds only while the
// config links the two accounts (I13).
import {
  conversationKey,
  parseConversationKey,
  type Address,
  type ConversationKey,
  type SessionKey,
} from "@parley/protocol";
import type { Cells } from "@parley/store";

export interface ConversationBindings {
  /** Reads what is bound now. Await it before anything is received. */
  load(): Promise<void>;
  /** Returns the hand-over of this conversation; null for one that has its own session. */
  at(address: Address): HandOver | null;
  /** Returns the hand-over of this session; null when it goes on where it is. */
  of(session: string): HandOver | null;
  /**
   * Durable once resolved; ends an earlier hand-over of the session, and of another one to the same place.
   * `from`: the person where they asked.
   */
  handOver(session: SessionKey, from: Address, to: Address): Promise<void>;
  /** Returns false when there was none. */
  takeBack(session: string): Promise<boolean>;
  /** Returns the session that works in this thread; null for a thread with its own. */
  worker(address: Address): SessionKey | null;
  /** The threads that this session works in. */
  threadsOf(session: string): readonly Address[];
  /** All threads in which sub-agents work. */
  threads(): readonly BoundThread[];
  /** Durable once resolved: what is written in the thread belongs to the session from now on. */
  bind(session: SessionKey, thread: Address): Promise<void>;
  /** Gives the session's threads back to their own conversations, and returns them. */
  unbind(session: string): Promise<readonly Address[]>;
}

interface BoundThread {
  readonly session: SessionKey;
  readonly thread: Address;
}

/** `from`: the person where they asked; `to`: the conversation that the session goes on in. */
export interface HandOver {
  readonly session: SessionKey;
  readonly from: Address;
  readonly to: Address;
}

const prefix = "handed-over:";
const threadPrefix = "bound-thread:";
/** One per session that was handed over and not taken back, and one per thread with a sub-agent. */
const most = 10_000;

export function conversationBindings(cells: Pick<Cells, "list" | "put" | "remove">): ConversationBindings {
  const bySession = new Map<string, HandOver>();
  const byPlace = new Map<string, HandOver>();
  const workers = new Map<ConversationKey, SessionKey>();
  const threadsOf = (session: string): readonly Address[] =>
    [...workers].filter(([, worker]) => worker === session).map(([thread]) => parseConversationKey(thread));

  const forget = (session: string): void => {
    const known = bySession.get(session);
    if (known === undefined) return;
    bySession.delete(session);
    const place = conversationKey(known.to);
    // Another process may have handed another session over to the same place since.
    if (byPlace.get(place) === known) byPlace.delete(place);
  };
  const remember = (bound: HandOver): void => {
    forget(bound.session);
    bySession.set(bound.session, bound);
    byPlace.set(conversationKey(bound.to), bound);
  };
  return {
    async load() {
      const [stored, threads] = await Promise.all([cells.list(prefix, most), cells.list(threadPrefix, most)]);
      bySession.clear();
      byPlace.clear();
      workers.clear();
      for (const { key, value } of threads)
        workers.set(key.slice(threadPrefix.length) as ConversationKey, value as SessionKey);
      for (const { value } of stored) {
        const { session, from, to } = JSON.parse(value) as { session: string; from: string; to: string };
        remember({
          session: session as SessionKey,
          from: parseConversationKey(from),
          to: parseConversationKey(to),
        });
      }
    },
    at: (address) => byPlace.get(conversationKey(address)) ?? null,
    of: (session) => bySession.get(session) ?? null,
    async handOver(session, from, to) {
      // Two sessions in one conversation would be told apart by nobody, and otherwise by each process.
      const there = byPlace.get(conversationKey(to));
      if (there !== undefined && there.session !== session) {
        await cells.remove(`${prefix}${there.session}`);
        forget(there.session);
      }
      const value = { session, from: conversationKey(from), to: conversationKey(to) };
      await cells.put(`${prefix}${session}`, JSON.stringify(value), {});
      remember({ session, from, to });
    },
    async takeBack(session) {
      const removed = await cells.remove(`${prefix}${session}`);
      forget(session);
      return removed;
    },
    worker: (address) => workers.get(conversationKey(address)) ?? null,
    threadsOf,
    threads: () =>
      [...workers].map(([thread, session]) => ({ session, thread: parseConversationKey(thread) })),
    async bind(session, thread) {
      const key = conversationKey(thread);
      await cells.put(`${threadPrefix}${key}`, session, {});
      workers.set(key, session);
    },
    async unbind(session) {
      const threads = threadsOf(session);
      for (const thread of threads) {
        await cells.remove(`${threadPrefix}${conversationKey(thread)}`);
        workers.delete(conversationKey(thread));
      }
      return threads;
    },
  };
}

/** True when one entry of `session.identityLinks` names both people. */
export function linkedPeople(links: {
  readonly [person: string]: readonly string[];
}): (a: Address, b: Address) => boolean {
  const id = ({ channel, peer }: Address): string => `${channel}:${peer}`;
  return (a, b) => Object.values(links).some((ids) => ids.includes(id(a)) && ids.includes(id(b)));
}

/** Returns where what a session began in `from` goes on; null where its rows say. */
export type PlaceOf = (session: string, from: Address) => Address | null;

/**
 * Follows a hand-over while the config links its two accounts, for what the same person began. Several people
 * may share a session; what others began is answered to them (I6).
 */
export function placeNow(
  handOvers: Pick<ConversationBindings, "of">,
  links: { readonly [person: string]: readonly string[] },
): PlaceOf {
  const linked = linkedPeople(links);
  return (session, from) => {
    const found = handOvers.of(session);
    return found !== null && linked(found.from, found.to) && linked(from, found.to) ? found.to : null;
  };
}
