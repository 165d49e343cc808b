// Decides what follows when a part could not be sent or its outcome is unknown. It is sent again only where
// nobody can see a repeat (I5); otherwise it is recorded as failed or ambiguous and the owner is told. A part
// that failed for good ends the parts behind it (I4).
import { chatIsClosed, closedPlace, showsNothing, limitReach, migratedChatId } from "@parley/channels";
import { isFault, parseContent, type Clock, type Fault, type Log, type Receipt } from "@parley/protocol";
import type { Change, DeliveryView } from "@parley/store";
import type { MigratedChats } from "@parley/access";
import type { UnreachableChats } from "./unreachable-chats.ts";
import type { RateLimit } from "./rate-limit.ts";
import { inThread } from "./opened-thread.ts";
import { setsState } from "./repeatable.ts";
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
  /** False for an unknown outcome whose repeat people would see. */
  readonly mayRepeat: (error: Fault) => boolean;
  /** Called once the trouble is recorded. */
  readonly onTrouble: (delivery: DeliveryView, reason: string) => void;
  /** Called for an answer that will certainly never arrive where another one may. */
  readonly onFailed: (delivery: DeliveryView) => void;
  readonly clock: Clock;
}

export interface FailedSends {
  /**
   * Settles a part after its send threw. Rethrows anything that is no Fault, and Faults that end the lease.
   */
  settle(lane: LaneContext, at: PartContext, error: unknown): Promise<PartStep>;
  /** Records an unknown outcome; the parts behind it go on. */
  ambiguous(lane: LaneContext, at: PartContext, reason: string): Promise<PartStep>;
  /** Records `failure`, of part `from`, and fails the parts behind it, `count` in all. */
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
  ): Promise<PartStep> {
    await record(lane, [{ delivery: delivery.id, part: index, to: "ambiguous", reason }]);
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
        // The error names the chat's new id before the group's own message does, or in its place if we missed
        // that.
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
          const repeats = lane.channel.capabilities.idempotentSends || setsState(part);
          const again = options.mayRepeat(error) && (repeats || part.state === "queued");
          // The part stays `sending`, which the next lease reads as "outcome unknown".
          if (again && clock.now() - delivery.createdAtMs <= ambiguousFenceMs) {
            return { release: { afterMs: unknownRetryMs, reason: error.message, refund: true } };
          }
          return ambiguous(lane, at, error.message);
        }
        case "invalid":
        case "unsupported":
        case "denied":
        case "missing":
          // Nobody misses a message without anything in it, but those before and behind it.
          if (showsNothing(error) && (at.split ?? delivery.parts).length > 1)
            return { next: true, change: { ...name, to: "sent", receipt: JSON.stringify(ofNothing(at)) } };
          // A thread may be gone while its chat is not.
          if (chatIsClosed(error) && goesToLane(at))
            await closed.close(closedPlace(error, lane.to), error.message);
          // The platform refused this answer and not the chat, so others arrive there.
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

/** False for a part in a thread that the delivery opened, or that what it changes is in. */
function goesToLane({ part, thread }: PartContext): boolean {
  const content = parseContent(part.content);
  return thread === undefined && !(content.kind === "act" && content.thread !== undefined);
}

/** The receipt of what made no message: the part behind it goes where the one before it went. */
function ofNothing({ follows, thread }: PartContext): Receipt {
  const before = follows === null ? {} : (JSON.parse(follows) as Receipt).extra;
  // What names messages does not count for it.
  const kept = Object.entries(before ?? {}).filter(([name]) => name !== "messageIds" && name !== "opened");
  const extra = Object.fromEntries(kept);
  return inThread({ messageId: "", ...(kept.length === 0 ? {} : { extra }) }, thread);
}
