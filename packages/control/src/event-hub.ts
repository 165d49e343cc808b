// Tells connected clients what happens in the streams that they follow. Durable events are not carried here: a follower is only woken and
// reads the event log itself, in order, from where it stands. So the order of wake-ups does not matter, and nothing can be lost or doubled.

import type { EventName, EventPayloads } from "@parley/protocol";

interface Follower {
  /** Something durable was appended to the stream. */
  wake(): void;
  /** Shown now or never: `frame` is the event, ready to send. */
  show(frame: string): void;
}

export interface Hub {
  /** After `events.append` resolved. May be called late, twice, or for nothing. */
  appended(stream: string): void;
  /** Deltas and typing: not replayed, dropped for clients that are slow. Each must stand for itself: carry the whole text so far. */
  show<E extends EventName>(stream: string, event: E, payload: EventPayloads[E]): void;
  /** Returns how to stop. */
  follow(stream: string, follower: Follower): () => void;
  /** Wakes every follower now and then without a cause, so that a passing failure to read needs no other end. */
  readonly looksAgain?: boolean;
  /** Whether it is worth rendering something to show. */
  isFollowed(stream: string): boolean;
}

export function eventHub(): Hub {
  const followers = new Map<string, Set<Follower>>();

  return {
    appended(stream) {
      for (const follower of followers.get(stream) ?? []) follower.wake();
    },
    show(stream, event, payload) {
      const listening = followers.get(stream);
      if (listening === undefined) return;
      const frame = JSON.stringify({ type: "event", event, payload });
      for (const follower of listening) follower.show(frame);
    },
    follow(stream, follower) {
      const listening = followers.get(stream) ?? new Set();
      followers.set(stream, listening.add(follower));
      return () => {
        listening.delete(follower);
        if (listening.size === 0 && followers.get(stream) === listening) followers.delete(stream);
      };
    },
    isFollowed: (stream) => followers.has(stream),
  };
}
