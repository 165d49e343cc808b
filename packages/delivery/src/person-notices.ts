// Tells a conversation that an answer to it failed for good, once per answer. It stays silent where nothing
// can arrive, and about notices that fail themselves.
import { isAnswer, parseConversationKey, type Log, parseContent } from "@parley/protocol";
import type { DeliveryView, Outbox } from "@parley/store";
import type { UnreachableChats } from "./unreachable-chats.ts";
import { textDelivery } from "./notice.ts";

export interface PersonNoticesOptions {
  readonly outbox: Pick<Outbox, "post">;
  readonly closed: Pick<UnreachableChats, "reason">;
  readonly log: Log;
}

const idPrefix = "failed:";
const words =
  "⚠️ I had an answer here that could not be delivered. Please ask again, perhaps for something shorter or simpler; the operator can see why.";

/** A failed notice is not worth another notice. */
export function isPersonNotice({ id }: Pick<DeliveryView, "id">): boolean {
  return id.startsWith(idPrefix);
}

/** Previews are no answers, nor are removals, edits or reactions. */
function hasAnswer({ open, parts }: DeliveryView): boolean {
  const [first] = parts;
  return !open && first !== undefined && isAnswer(parseContent(first.content));
}

export function personNotices({
  outbox,
  closed,
  log,
}: PersonNoticesOptions): (delivery: DeliveryView) => void {
  async function tell(delivery: DeliveryView): Promise<void> {
    const to = parseConversationKey(delivery.lane);
    if ((await closed.reason(to)) !== null) return;
    await outbox.post([textDelivery(`${idPrefix}${delivery.id}`, to, words, delivery.cause)]);
  }

  return (delivery) => {
    if (isPersonNotice(delivery) || delivery.id.startsWith("trouble:") || !hasAnswer(delivery)) return;
    tell(delivery).catch((error: unknown) =>
      log.warn({ delivery: delivery.id, error }, "the person could not be told of a failed answer"),
    );
  };
}
