// Remembers conversations whose messages belong to another session than their address says, because a person
// handed the talk over to another channel. Cells hold a hand-over before its first message is accepted;
// memory answers, because every message asks. It holds only while the config links the two accounts (I13).
import { conversationKey, parseConversationKey, type Address, type SessionKey } from "@parley/protocol";
import type { Cells } from "@parley/store";

export interface ConversationBindings {
  /** Reads what is bound now. Await it before anything is received. */
  load(): Promise<void>;
  /** Returns the hand-over of this conversation; null for one that has its own session. */
  at(address: Address): HandOver | null;
  /** Returns the hand-over of this session; null when it goes on where it is. */
  of(session: string): HandOver | null;
  /** Durable once resolved; ends an earlier hand-over of the session. `from`: the person where they asked. */
  handOver(session: SessionKey, from: Address, to: Address): Promise<void>;
  /** Returns false when there was none. */
  takeBack(session: string): Promise<boolean>;
}

/** `from`: the person where they asked; `to`: the conversation that the session goes on in. */
export interface HandOver {
  readonly session: SessionKey;
  readonly from: Address;
  readonly to: Address;
}

const prefix = "handed-over:";
/** One per session that was handed over and not taken back. */
const most = 10_000;

export function conversationBindings(cells: Pick<Cells, "list" | "put" | "remove">): ConversationBindings {
  const bySession = new Map<string, HandOver>();
  const byPlace = new Map<string, HandOver>();

  const forget = (session: string): void => {
    const known = bySession.get(session);
    if (known === undefined) return;
    bySession.delete(session);
    const place = conversationKey(known.to);
    // Another session may have been handed over to the same place since.
    if (byPlace.get(place) === known) byPlace.delete(place);
  };
  const remember = (bound: HandOver): void => {
    forget(bound.session);
    bySession.set(bound.session, bound);
    byPlace.set(conversationKey(bound.to), bound);
  };
  return {
    async load() {
      const stored = await cells.list(prefix, most);
      bySession.clear();
      byPlace.clear();
      for (const { value } of stored) {
        const { session, from, to } = JSON.parse(value) as { session: string; from: string; to: string };
        remember({
          session: session as SessionKey,
          from: parseConversationKey(from as ReturnType<typeof conversationKey>),
          to: parseConversationKey(to as ReturnType<typeof conversationKey>),
        });
      }
    },
    at: (address) => byPlace.get(conversationKey(address)) ?? null,
    of: (session) => bySession.get(session) ?? null,
    async handOver(session, from, to) {
      const value = { session, from: conversationKey(from), to: conversationKey(to) };
      await cells.put(`${prefix}${session}`, JSON.stringify(value), {});
      remember({ session, from, to });
    },
    async takeBack(session) {
      const removed = await cells.remove(`${prefix}${session}`);
      forget(session);
      return removed;
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
