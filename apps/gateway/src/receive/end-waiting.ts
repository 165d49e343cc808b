// Ends the waiting indicator of messages that leave the queue without a turn: stopped, superseded or dropped.
// A platform's own command shows that an answer is awaited, and nobody else would end that.
import { accountKey, type Log, formatContent, parseRowPayload } from "@parley/protocol";
import type { Inbox, NewDelivery, Outbox, Row } from "@parley/store";
import { showsWaiting } from "@parley/runner";

export interface EndWaitingOptions {
  readonly inbox: Inbox;
  readonly outbox: Pick<Outbox, "post">;
  /** True when the account's platform shows that an answer is awaited. */
  readonly shows: (account: string) => boolean;
  readonly log: Log;
}

/** Beyond this number, the platform's own timeout ends the waiting. */
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
          // The rows are stopped anyway, and the waiting ends by its age.
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
