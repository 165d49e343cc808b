// The event log on Redis, from which clients replay.
import type { Events, StoredEvent } from "../store.ts";
import type { Connection } from "./connection.ts";
import { appendEventScript, eventsAfterScript, newestEventsScript } from "./verbs/state.ts";

/** `keep` is the number of events kept, counted over all streams. */
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
      // A client whose seq is ahead of the log saw another log.
      const gone = (first > 0 && seq < first - 1) || seq > lastSeq;
      return { events: events.map((text) => eventOf(stream, text)), gone, lastSeq };
    },
    async newest(stream, limit, beforeSeq) {
      const events = await call<readonly string[]>(newestEventsScript, {
        stream,
        limit,
        before: beforeSeq === undefined ? "+inf" : `(${beforeSeq}`,
      });
      return events.map((text) => eventOf(stream, text)).toReversed();
    },
  };
}
