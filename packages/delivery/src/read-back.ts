// Looks up a message or thread of unknown outcome on platforms that let a bot read its own messages back
// (I5). If it arrived, nothing is repeated.
import {
  isFault,
  type Address,
  type Clock,
  type CreateThread,
  type Receipt,
  type RenderedPart,
  deadline,
  parseContent,
} from "@parley/protocol";
import type { Channel } from "@parley/channels";
import type { DeliveryView, Outbox, PartView } from "@parley/store";

/** The platform's clock may be this far behind ours. */
const clockSkewMs = 60_000;
const lookTimeoutMs = 30_000;

export interface ReadBackOptions {
  readonly outbox: Pick<Outbox, "find">;
  readonly clock: Clock;
}

/**
 * The receipt of a message that arrived, "unknown" where the platform cannot say, or the wait before the next
 * look.
 */
export type ReadBack =
  | Receipt
  | "not there"
  | "unknown"
  | { readonly againAfterMs: number | undefined; readonly reason: string };

export async function readBack(
  { outbox, clock }: ReadBackOptions,
  { channel, to, signal }: { readonly channel: Channel; readonly to: Address; readonly signal: AbortSignal },
  delivery: DeliveryView,
  part: PartView,
): Promise<ReadBack> {
  if (channel.sentSince === undefined) return channel.capabilities.idempotentSends ? "not there" : "unknown";
  const sent = madeBy(part);
  if (sent === null) return "not there";
  const timeout = deadline(clock, lookTimeoutMs, "the look at what was sent");
  try {
    const until = AbortSignal.any([signal, timeout.signal]);
    const found = await channel.sentSince(to, sent, delivery.createdAtMs - clockSkewMs, until);
    if (found === null) return "unknown";
    for (const receipt of found) {
      // Another delivery may have said the same words.
      const known = await outbox.find({
        receipt: JSON.stringify(receipt.messageId),
        lane: delivery.lane,
        limit: 1,
      });
      if (known.length === 0) return receipt;
    }
    return "not there";
  } catch (error) {
    if (!isFault(error)) throw error;
    return { againAfterMs: error.retryAfterMs, reason: error.message };
  } finally {
    timeout.cancel();
  }
}

/** The message or thread that a part makes; null for one that makes neither. */
function madeBy({ content }: PartView): RenderedPart | CreateThread | null {
  const known = parseContent(content);
  if (known.kind === "rendered") return known.part;
  return known.kind === "act" && known.action.kind === "createThread" ? known.action : null;
}
