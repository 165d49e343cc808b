// The event log that clients replay from.
import type { Events, StoredEvent } from "../store.ts";
import type { Connection } from "./connection.ts";
import { appendEventScript, eventsAfterScript, newestEventsScript } from "./verbs/state.ts";

/** `keep`: how many events stay, counted over all streams. */
export function redisEvents({ call }: Connection, keep: number): Events {
  const eventOf = (stream: string, text: string): StoredEvent => {
    const { seq, at, body } = JSON.parse(text) as {
      readonly seq: number;
      readonly at: number;
      readonly body: string;
    };
    return { seq, stream, atMs: at, body };
  };
  return {
    append: (stream, id, body) => call(appendEventScript, { stream, id, body, keep }),
    async after(stream, seq, limit) {
      const [events, first, lastSeq] = await call<readonly [readonly string[], number, number]>(
        eventsAfterScript,
        { stream, seq, limit },
      );
      // A client ahead of the log saw a log that this one does not have.
      const gone = (first > 0 && seq < first - 1) || seq > lastSeq;
      return { events: events.map((text) => eventOf(stream, text)), gone, lastSeq };
    },
    async newest(stream, limit) {
      const events = await call<readonly string[]>(newestEventsScript, { stream, limit });
      return events.map((text) => eventOf(stream, text)).toReversed();
    },
  };
}
