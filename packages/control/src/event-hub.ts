// Wakes connected clients when their streams grow. The hub carries no durable event: a woken follower reads
// the event log itself, in order, from its own position. So wake-ups may come in any order, and nothing is
// lost or doubled.

import type { EventName, EventPayloads } from "@parley/protocol";

interface Follower {
  /** Something durable was appended to the stream. */
  wake(): void;
  /** Shows `frame`, an event ready to send, now or never. */
  show(frame: string): void;
}

export interface Hub {
  /** Call after `events.append` resolved. Calls that are late, doubled or needless do no harm. */
  appended(stream: string): void;
  /**
   * Shows deltas and typing, which are not replayed and are dropped for slow clients. Each must carry the
   * whole text so far.
   */
  show<E extends EventName>(stream: string, event: E, payload: EventPayloads[E]): void;
  /** Returns a function that stops following. */
  follow(stream: string, follower: Follower): () => void;
  /**
   * True when the hub also wakes followers now and then without a cause, which ends a passing read failure.
   */
  readonly looksAgain?: boolean;
  /** True when somebody follows, so that rendering is worth it. */
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
