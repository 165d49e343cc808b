// The event hub of several processes: a client of any node follows what any other node appends or shows.
// Nodes are only told that a stream grew; every follower reads the log itself, and also every two seconds
// unasked, so a lost message costs a moment and never an event.
import type { EventName, EventPayloads, Clock } from "@parley/protocol";
import type { Bus } from "@parley/queue";
import type { Hub } from "@parley/control";

const lookEveryMs = 2_000;
/** A node repeats which streams its clients follow. */
const sayEveryMs = 20_000;
const saidHoldsMs = 60_000;
const mostSaid = 10_000;

export interface HubOfNodes extends Hub {
  close(): void;
}

export function hubOfNodes(own: Hub, bus: Bus, clock: Clock): HubOfNodes {
  /** Streams that clients of this node follow, with their number. */
  const here = new Map<string, number>();
  /** Streams that clients of other nodes follow, with the time of the last notice. */
  const elsewhere = new Map<string, number>();
  let closed = false;

  const isFollowedElsewhere = (stream: string): boolean => {
    const saidMono = elsewhere.get(stream);
    if (saidMono === undefined) return false;
    if (clock.mono() - saidMono <= saidHoldsMs) return true;
    elsewhere.delete(stream);
    return false;
  };
  const hears = [
    bus.hear("appended", (stream) => own.appended(stream)),
    bus.hear("followed", (stream) => {
      elsewhere.delete(stream);
      elsewhere.set(stream, clock.mono());
      if (elsewhere.size > mostSaid) elsewhere.delete(elsewhere.keys().next().value ?? "");
    }),
    bus.hear("show", (text) => {
      const [stream, event, payload] = JSON.parse(text) as [string, EventName, EventPayloads[EventName]];
      own.show(stream, event, payload);
    }),
  ];
  const every = (ms: number, act: (stream: string) => void): (() => void) => {
    let timer = clock.after(ms, beat);
    function beat(): void {
      for (const stream of here.keys()) act(stream);
      if (!closed) timer = clock.after(ms, beat);
    }
    return () => timer.cancel();
  };
  const stops = bus.shared
    ? [
        every(lookEveryMs, (stream) => own.appended(stream)),
        every(sayEveryMs, (stream) => bus.tell("followed", stream)),
      ]
    : [];

  return {
    looksAgain: bus.shared,
    appended(stream) {
      own.appended(stream);
      bus.tell("appended", stream);
    },
    show(stream, event, payload) {
      own.show(stream, event, payload);
      // Others, such as log lines, belong to this node.
      if (/^(?:chat|device)\./.test(event) && isFollowedElsewhere(stream))
        bus.tell("show", JSON.stringify([stream, event, payload]));
    },
    follow(stream, follower) {
      const stop = own.follow(stream, follower);
      here.set(stream, (here.get(stream) ?? 0) + 1);
      bus.tell("followed", stream);
      let following = true;
      return () => {
        stop();
        if (!following) return;
        following = false;
        const left = (here.get(stream) ?? 1) - 1;
        if (left === 0) here.delete(stream);
        else here.set(stream, left);
      };
    },
    isFollowed: (stream) => own.isFollowed(stream) || isFollowedElsewhere(stream),
    close() {
      closed = true;
      for (const stop of [...hears, ...stops]) stop();
    },
  };
}
