// What becomes of a part that could not be sent, or of which nobody knows whether it was: sent again only where a repeat cannot be seen (I5),
// else recorded as failed or ambiguous, and the owner told. A part that failed for good takes those behind it along (I4).
import { chatIsClosed, limitReach, migratedChatId } from "@parley/channels";
import { isFault, type Clock, type Fault, type Log } from "@parley/protocol";
import type { Change, DeliveryView } from "@parley/store";
import type { MigratedChats } from "@parley/access";
import type { UnreachableChats } from "./unreachable-chats.ts";
import type { RateLimit } from "./rate-limit.ts";
import {
  ambiguousFenceMs,
  unknownRetryMs,
  type LaneContext,
  type PartContext,
  type PartStep,
  type RecordChanges,
} from "./send-part.ts";

export interface FailedSendsOptions {
  readonly moved: Pick<MigratedChats, "learn">;
  readonly closed: Pick<UnreachableChats, "close">;
  readonly rateLimit: Pick<RateLimit, "limited">;
  readonly record: RecordChanges;
  /** False for an unknown outcome of which a repeat would be seen. */
  readonly mayRepeat: (error: Fault) => boolean;
  /** Told once it is recorded. */
  readonly onTrouble: (delivery: DeliveryView, reason: string) => void;
  /** Told of an answer that will surely never arrive, where another may. */
  readonly onFailed: (delivery: DeliveryView) => void;
  readonly clock: Clock;
}

export interface FailedSends {
  /** What the send of this part came to. Rethrows what is no Fault, and what ends the hold of the lane. */
  settle(lane: LaneContext, at: PartContext, error: unknown): Promise<PartStep>;
  /** Gives up on knowing; what is behind it goes on. */
  ambiguous(lane: LaneContext, at: PartContext, reason: string, owed: readonly Change[]): Promise<PartStep>;
  /** Records `failure`, of the part `from`, and with it the end of those behind it, `count` in all. */
  failRest(
    lane: LaneContext,
    delivery: DeliveryView,
    from: number,
    count: number,
    failure: Change,
    told: Log,
  ): Promise<null>;
}

export function failedSends(options: FailedSendsOptions): FailedSends {
  const { moved, closed, rateLimit, record, onTrouble, clock } = options;

  async function ambiguous(
    lane: LaneContext,
    { delivery, index }: PartContext,
    reason: string,
    owed: readonly Change[],
  ): Promise<PartStep> {
    await record(lane, [...owed, { delivery: delivery.id, part: index, to: "ambiguous", reason }]);
    onTrouble(delivery, `it is not known whether it arrived: ${reason}`);
    return { next: true };
  }

  return {
    ambiguous,
    async settle(lane, at, error) {
      const { delivery, index, part } = at;
      const name = { delivery: delivery.id, part: index };
      if (!isFault(error)) throw error;
      at.log.warn({ part: index, code: error.code, reason: error.message }, "could not send");
      const newPeer = migratedChatId(error);
      if (newPeer !== null) {
        // The send tells it before the group's own message does, or in place of one that we missed.
        await moved.learn(lane.to, lane.to.peer, newPeer);
        await record(lane, [{ ...name, to: "queued", reason: error.message }]);
        return { release: { afterMs: 0, reason: error.message, refund: true } };
      }
      switch (error.code) {
        case "rate_limited": {
          const afterMs = error.retryAfterMs ?? 1_000;
          rateLimit.limited(delivery.lane, afterMs, limitReach(error));
          await record(lane, [{ ...name, to: "queued", reason: error.message }]);
          return { release: { afterMs, reason: error.message, refund: true } };
        }
        case "unavailable":
        case "aborted":
          await record(lane, [{ ...name, to: "queued", reason: error.message }]);
          throw error;
        case "conflict":
          throw error;
        case "ambiguous": {
          const repeats = lane.channel.capabilities.idempotentSends || part.intoReceipt !== null;
          const again = options.mayRepeat(error) && (repeats || part.state === "queued");
          // The part stays `sending`; under the next lease that reads as "outcome unknown", which is what it is.
          if (again && clock.now() - delivery.createdAtMs <= ambiguousFenceMs) {
            return { release: { afterMs: unknownRetryMs, reason: error.message, refund: true } };
          }
          return ambiguous(lane, at, error.message, []);
        }
        case "invalid":
        case "unsupported":
        case "denied":
        case "missing":
          if (chatIsClosed(error)) await closed.close(lane.to, error.message);
          // It was this answer that was refused, and not the chat: others arrive there.
          if (error.code === "invalid" || error.code === "unsupported") options.onFailed(delivery);
          return { next: true, change: { ...name, to: "failed", reason: error.message } };
      }
    },
    async failRest(lane, delivery, from, count, failure, told) {
      const reason = "reason" in failure ? failure.reason : "an earlier part failed";
      const changes: Change[] = [failure];
      for (let part = from + 1; part < count; part += 1)
        changes.push({
          delivery: delivery.id,
          part,
          to: "failed",
          reason: `an earlier part failed: ${reason}`,
        });
      await record(lane, changes);
      told.warn({ reason }, "delivery failed for good");
      onTrouble(delivery, reason);
      return null;
    },
  };
}
