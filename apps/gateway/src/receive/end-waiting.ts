// A message that came as a platform's own command shows that its answer is awaited. Where it ends in the
// queue, without a turn - stopped, superseded, dropped - nobody would ever end that: so whatever ends rows
// here also ends their waiting.
import { accountKey, type Log, formatContent, parseRowPayload } from "@parley/protocol";
import type { Inbox, NewDelivery, Outbox, Row } from "@parley/store";
import { showsWaiting } from "@parley/runner";

export interface EndWaitingOptions {
  readonly inbox: Inbox;
  readonly outbox: Pick<Outbox, "post">;
  /** Whether an account's platform shows that an answer is awaited. */
  readonly shows: (account: string) => boolean;
  readonly log: Log;
}

/** More wait for a while and are ended by their age. */
const mostEnded = 100;

export function endsWaiting({ inbox, outbox, shows, log }: EndWaitingOptions): Inbox {
  async function endedWaiting(id: string): Promise<NewDelivery[]> {
    const [row] = await inbox.find({ id, limit: 1, dismissed: true });
    return row === undefined || !showsWaiting(row, shows) ? [] : [waitingEnd(row)];
  }

  return {
    ...inbox,
    async stop(lane, what) {
      const stopped = await inbox.stop(lane, what);
      const ended = await Promise.all(stopped.rows.slice(0, mostEnded).map(endedWaiting)).catch(
        (error: unknown) => {
          // What was stopped is stopped: the waiting ends by its age.
          log.info({ lane, error }, "could not look up whose waiting to end");
          return [];
        },
      );
      const deliveries = ended.flat();
      if (deliveries.length > 0) await outbox.post(deliveries);
      return stopped;
    },
  };
}

function waitingEnd({
  id,
  payload,
  conversation,
}: Pick<Row, "id" | "payload" | "conversation">): NewDelivery {
  const { address } = parseRowPayload(payload).inbound;
  const parts = [{ content: formatContent({ v: 1, kind: "remove" }) }];
  return { id: `${id}/unanswered`, pool: accountKey(address), lane: conversation, cause: id, parts };
}
