// Follows one stream for one client: every durable event once, in log order, from the last seq that the
// client saw, and transient events in between. It reads the log only as fast as the client takes it.
import { isFault, type Log } from "@parley/protocol";
import type { Events, StoredEvent } from "@parley/store";
import type { Hub } from "./event-hub.ts";
import type { SendBuffer } from "./send-buffer.ts";

export interface FollowOptions {
  readonly stream: string;
  /** Events after this seq are sent. */
  readonly afterSeq: number;
  readonly events: Pick<Events, "after">;
  readonly hub: Hub;
  readonly outlet: SendBuffer;
  readonly log: Log;
}

/** Events read in one query. */
const pageEvents = 100;

/** Returns a function that stops following. */
export function follow(options: FollowOptions): () => void {
  const { stream, events, outlet, log } = options;
  let seq = options.afterSeq;
  let stopped = false;
  let reading = false;
  let again = false;
  /** Fewer where the client has no room for a whole page. */
  let atOnce = pageEvents;

  async function readOn(): Promise<void> {
    for (;;) {
      await outlet.room();
      if (stopped) return;
      again = false;
      const page = await events.after(stream, seq, atOnce);
      if (stopped) return;
      if (page.gone) {
        // The client lagged so far that the log forgot its position: it has to ask for the history again.
        seq = page.lastSeq;
        outlet.send(JSON.stringify({ type: "event", event: "resync", payload: {}, seq }));
        continue;
      }
      let sent = 0;
      for (const event of page.events) {
        // A page of large events would close a client that reads, only slowly: the rest waits in the log.
        if (!outlet.hasRoom()) break;
        outlet.send(frameOf(event));
        seq = event.seq;
        sent += 1;
      }
      const [isWhole, isFull] = [sent === page.events.length, page.events.length === atOnce];
      atOnce = isWhole ? Math.min(pageEvents, atOnce * 2) : Math.max(1, sent);
      if (!isWhole || isFull || again) continue;
      // Set in the same step as the check, so that no wake-up falls in between.
      reading = false;
      return;
    }
  }

  function wake(): void {
    again = true;
    if (reading || stopped) return;
    reading = true;
    readOn().catch((error: unknown) => {
      if (options.hub.looksAgain === true && isFault(error, "unavailable")) {
        reading = false;
        return;
      }
      // Without its events the client would wait in vain, so it reconnects and resumes by seq.
      log.error({ error, stream }, "could not read the event log");
      outlet.close(1011, "the event log could not be read");
    });
  }

  const unfollow = options.hub.follow(stream, {
    wake,
    show: (frame) => {
      if (!stopped) outlet.offer(frame);
    },
  });
  wake();
  return () => {
    stopped = true;
    unfollow();
  };
}

/** The log of a conversation holds its messages without their seq. */
function frameOf({ seq, body }: StoredEvent): string {
  const message: unknown = JSON.parse(body);
  return JSON.stringify({
    type: "event",
    event: "chat.message",
    payload: { ...(message as object), seq },
    seq,
  });
}
