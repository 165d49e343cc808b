// Tells what changed since a lane's batch was read: a preview may have been replaced, a delivery dropped, or
// a command's answer queued in front. The lane is then released and read again.
import { isFault } from "@parley/protocol";
import type { DeliveryBatch, DeliveryView, Outbox } from "@parley/store";

/**
 * Says how a delivery ended while its part waited here: a turn may replace its preview, a /stop may drop
 * what was not begun. Null when it did neither, so the error stands.
 */
export async function endedMeanwhile(
  outbox: Pick<Outbox, "find">,
  delivery: DeliveryView,
  index: number,
  error: unknown,
): Promise<"replaced" | "dropped" | null> {
  if (!isFault(error, "invalid")) return null;
  const [found] = await outbox.find({ id: delivery.id, limit: 1 });
  if (delivery.open) return found?.done === true ? "replaced" : null;
  const part = found?.parts[found.split ? index : 0];
  return found !== undefined && part?.state === "failed" ? "dropped" : null;
}

/**
 * True when a command's answer that was queued after this batch was read goes first and nothing of this
 * delivery has begun.
 */
export async function isOvertaken(
  outbox: Pick<Outbox, "find">,
  { id }: DeliveryView,
  error: unknown,
): Promise<boolean> {
  if (!isFault(error, "invalid")) return false;
  const [found] = await outbox.find({ id, limit: 1 });
  return found?.parts.every(({ state, attempts }) => state === "queued" && attempts === 0) === true;
}

/**
 * True when the delivery edits one sent from the same batch: the batch was read before that one had a
 * receipt.
 */
export function editsEarlier({ deliveries }: DeliveryBatch, delivery: DeliveryView): boolean {
  const into = delivery.parts[0]?.into;
  return (
    into !== undefined &&
    deliveries.slice(0, deliveries.indexOf(delivery)).some((earlier) => into.startsWith(`${earlier.id}/`))
  );
}
