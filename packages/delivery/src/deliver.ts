// Sends the deliveries of one outbox lane under its lease, in order, each part once. It journals `sending`
// before a part goes out and the receipt after it, so a crash leaves nothing unknown that it could know. It
// keeps I4 (order, contiguous chunks), I5 (what may be repeated, and when) and I6 (the lane's address). This
// is the last file of the core path.
import {
  Fault,
  parseConversationKey,
  sleep,
  type Clock,
  type Log,
  type Receipt,
  deadline,
} from "@parley/protocol";
import type { Channel } from "@parley/channels";
import type { Change, DeliveryView, Outbox, DeliveryBatch, Release } from "@parley/store";
import { type LeaseHandle, type WorkEnd, untilStored } from "@parley/queue";
import type { MigratedChats } from "@parley/access";
import { answeredIn, type CauseRow } from "./cause-rows.ts";
import type { UnreachableChats } from "./unreachable-chats.ts";
import type { RateLimit } from "./rate-limit.ts";
import { failedSends } from "./send-failures.ts";
import {
  ambiguousFenceMs,
  editedMessage,
  partSender,
  unknownRetryMs,
  type LaneContext,
  type PartContext,
  type PartStep,
} from "./send-part.ts";
import { lateMs, type RenderMeant } from "./render.ts";
import { plannedParts, splitPart } from "./plan.ts";
import { opensThread, setsState } from "./repeatable.ts";
import { inThread, placeOf, threadIn, threadOf } from "./opened-thread.ts";
import { readBack } from "./read-back.ts";
import { editsEarlier, endedMeanwhile, isOvertaken } from "./stale-batch.ts";

export interface DeliverOptions {
  readonly outbox: Outbox;
  /** The channel of the account; null while the config has none. */
  readonly channel: () => Channel | null;
  /** Resolves the chat id in the lane's name to the chat's current one. */
  readonly moved: Pick<MigratedChats, "current" | "learn">;
  /** Chats that the platform lets us write to no more. */
  readonly closed: Pick<UnreachableChats, "reason" | "close">;
  readonly render: RenderMeant;
  readonly rateLimit: RateLimit;
  /** Resolves when no other writer edits this message of ours any more. */
  readonly beforeEdit?: (messageId: string) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Ids of the rows behind a cause, so that the log can be followed from one id to the receipt. Never
   * rejects.
   */
  readonly rowsOf: (cause: string) => Promise<readonly CauseRow[]>;
  /** Called for each delivery that ended in trouble, after that is recorded. */
  readonly onTrouble: (delivery: DeliveryView, reason: string) => void;
  /** Called for an answer that will certainly never arrive where another one may. */
  readonly onFailed: (delivery: DeliveryView) => void;
  /** Called for each part that was sent, after that is recorded. */
  readonly onSent: (delivery: DeliveryView, part: number, receipt: Receipt) => void;
}

/** A message that certainly was not sent is still useful for a day. */
const queuedFenceMs = 24 * 3_600_000;
/** Longest time for one platform request, in milliseconds; the lease is extended to outlive it. */
const sendTimeoutMs = 30_000;
/** A longer wait releases the lane instead of occupying a slot. */
const holdWaitMs = 5_000;
const missingAccountRetryMs = 30_000;
/**
 * Where sent messages cannot be read back, an idempotency key counts this long: Discord keeps one "a few
 * minutes".
 */
const keyLivesMs = 120_000;

const delivered: Release = { afterMs: 0, reason: "delivered", refund: true };
const previewStays: Release = { afterMs: 0, reason: "preview is open", refund: true };

export type Deliver = (batch: DeliveryBatch, lease: LeaseHandle) => Promise<WorkEnd>;

export function deliverer(options: DeliverOptions): Deliver {
  const { outbox, rateLimit, clock, log } = options;
  const sender = partSender();
  const failed = failedSends({ ...options, record, mayRepeat: sender.mayRepeat });

  return async (batch, lease) => {
    const channel = options.channel();
    if (channel === null)
      return { afterMs: missingAccountRetryMs, reason: "the account is not configured", refund: true };
    const to = options.moved.current(parseConversationKey(batch.lane));
    for (const delivery of batch.deliveries) {
      if (editsEarlier(batch, delivery))
        return { afterMs: 0, reason: "what it edits was sent just now", refund: true };
      const end = await deliverOne({ batch, lease, channel, to }, delivery).catch(
        async (error: unknown): Promise<WorkEnd> => {
          if (delivery === batch.deliveries[0] || !(await isOvertaken(outbox, delivery, error))) throw error;
          return { afterMs: 0, reason: "a command's answer goes before it", refund: true };
        },
      );
      if (end !== null) return end;
    }
    return delivered;
  };

  function record(lane: LaneContext, changes: readonly Change[], release?: Release): Promise<boolean> {
    return untilStored(lane.lease, clock, () => outbox.record(lane.batch, changes, release));
  }

  /** Resolves with null when the delivery is done, else with how the lane is released. */
  async function deliverOne(lane: LaneContext, delivery: DeliveryView): Promise<WorkEnd | null> {
    const planned = await plannedParts(options, lane.channel, delivery, clock.now());
    if ("impossible" in planned || planned.parts.length === 0) {
      const reason = "impossible" in planned ? planned.impossible : "there is nothing to see in it";
      log.warn({ delivery: delivery.id, lane: delivery.lane, reason }, "there is nothing to send");
      await record(lane, [{ delivery: delivery.id, part: 0, to: "failed", reason }]);
      return null;
    }
    const { parts, split } = planned;
    const behind = await options.rowsOf(delivery.cause);
    const about = { lane: delivery.lane, cause: delivery.cause, rows: behind.map(({ id }) => id) };
    const ownLog = log.child({ delivery: delivery.id, ...about });
    const closed = await options.closed.reason(lane.to);
    const firstOpen = delivery.parts.findIndex((part) => part.state === "queued" || part.state === "sending");
    if (closed !== null && delivery.parts[firstOpen]?.state === "queued") {
      return failed.failRest(
        lane,
        delivery,
        firstOpen,
        delivery.parts.length,
        { delivery: delivery.id, part: firstOpen, to: "failed", reason: closed },
        ownLog,
      );
    }
    let current = delivery;
    let thread = threadOf(parts);
    /** The outcome of the part before, journaled in one commit with the next `sending`. */
    let owed: Change[] = [];
    for (let index = 0; index < parts.length; index += 1) {
      const part = parts[index];
      if (
        part === undefined ||
        part.state === "sent" ||
        part.state === "failed" ||
        part.state === "ambiguous"
      )
        continue;
      const follows = owed[0]?.to === "sent" ? owed[0].receipt : (parts[index - 1]?.receipt ?? null);
      if (owed[0]?.to === "sent") thread = threadIn(owed[0].receipt) ?? thread;
      if (index > 0 && thread === undefined && opensThread(parts[0]?.content ?? ""))
        return failed.failRest(
          lane,
          current,
          index,
          parts.length,
          { delivery: delivery.id, part: index, to: "failed", reason: "its thread is not known" },
          ownLog,
        );
      const step = await deliverPart(
        { ...lane, to: placeOf(lane.to, thread) },
        {
          delivery: current,
          part,
          index,
          owed,
          split: index === 0 ? split : null,
          answers: answeredIn(behind, delivery.lane),
          follows,
          thread,
          log: ownLog,
        },
      );
      owed = "change" in step && step.change !== undefined ? [step.change] : [];
      if ("release" in step) return step.release;
      if (owed[0]?.to === "failed")
        return failed.failRest(lane, current, index, parts.length, owed[0], ownLog);
      current = { ...current, parts };
    }
    // An open preview stays at the head; whoever closes it makes the lane due again.
    const isLast = delivery === lane.batch.deliveries.at(-1);
    const end = delivery.open ? previewStays : isLast ? delivered : null;
    if (owed.length === 0) return end;
    return (await record(lane, owed, end ?? undefined)) ? { settled: true } : end;
  }

  async function deliverPart(lane: LaneContext, at: PartContext): Promise<PartStep> {
    const { delivery, part, index } = at;
    const name = { delivery: delivery.id, part: index };
    const ageMs = clock.now() - delivery.createdAtMs;
    const before = part.state === "sending" && !setsState(part) ? await arrived(lane, at) : "not there";
    if (typeof before === "object") return before;
    const keyCounts = clock.now() - part.startedAtMs <= keyLivesMs && !opensThread(part.content);
    const isTrusted = before === "not there" || keyCounts;
    const repeats = (lane.channel.capabilities.idempotentSends && isTrusted) || setsState(part);
    if (part.state === "sending" && !repeats && (part.flagged || ageMs > ambiguousFenceMs)) {
      return failed.ambiguous(lane, at, part.reason ?? "the process ended while it was being sent");
    }
    if (part.state === "queued" && ageMs > queuedFenceMs) {
      if (at.owed.length > 0) await record(lane, at.owed);
      options.onFailed(delivery);
      return { next: true, change: { ...name, to: "failed", reason: "older than a day" } };
    }
    const waitMs = rateLimit.reserve(delivery.lane, lane.to.kind !== "dm", holdWaitMs);
    let { owed } = at;
    if (owed.length > 0 && (waitMs > 0 || lane.lease.signal.aborted)) {
      // Stores what arrived now, so that a crash or a stop before the next part cannot make it unknown again.
      await record(lane, owed);
      owed = [];
    }
    if (waitMs > holdWaitMs) return { release: { afterMs: waitMs, reason: "pacing", refund: true } };
    if (waitMs > 0) await sleep(clock, waitMs, lane.lease.signal);
    const edited = editedMessage(part);
    if (edited !== null) await options.beforeEdit?.(edited);
    await untilStored(lane.lease, clock, () => lane.lease.cover(sendTimeoutMs + 5_000));
    const begun: Change = {
      ...name,
      to: "sending",
      attempt: part.attempts + 1,
      idempotent: repeats,
      ...(at.split === null
        ? {}
        : { split: at.split.map((rendered, n) => splitPart(delivery, rendered, n)) }),
    };
    try {
      await record(lane, [...owed, begun]);
    } catch (error) {
      const ended = await endedMeanwhile(outbox, delivery, index, error);
      if (ended === null) throw error;
      if (owed.length > 0) await record(lane, owed);
      if (ended === "dropped")
        return { release: { afterMs: 0, reason: "what was left of it is not to be sent", refund: true } };
      return {
        release: {
          afterMs: 0,
          reason: "the answer took the preview's place before it was sent",
          refund: true,
        },
      };
    }
    try {
      const receipt = inThread(await sendPart(lane, at, before === "unknown"), at.thread);
      at.log.info({ part: index, messageId: receipt.messageId }, "sent");
      options.onSent(delivery, index, receipt);
      return { next: true, change: { ...name, to: "sent", receipt: JSON.stringify(receipt) } };
    } catch (error) {
      return failed.settle(lane, at, error);
    }
  }

  /**
   * Looks whether a part of unknown outcome has arrived; "not there" means that a repeat is certainly the
   * only copy.
   */
  async function arrived(lane: LaneContext, at: PartContext): Promise<PartStep | "not there" | "unknown"> {
    const { delivery, part, index } = at;
    const look = await readBack(options, { ...lane, signal: lane.lease.signal }, delivery, part);
    if (typeof look === "string") return look;
    if ("reason" in look)
      return {
        release: { afterMs: look.againAfterMs ?? unknownRetryMs, reason: look.reason, refund: true },
      };
    const found = inThread(look, at.thread);
    at.log.info({ part: index, messageId: found.messageId }, "had arrived");
    options.onSent(delivery, index, found);
    return {
      next: true,
      change: { delivery: delivery.id, part: index, to: "sent", receipt: JSON.stringify(found) },
    };
  }

  /**
   * Allows one more attempt after an unknown outcome: the message may be seen twice, but never three times.
   */
  async function risked(lane: LaneContext, { delivery, part, index }: PartContext): Promise<void> {
    if (part.state !== "sending" || lane.channel.capabilities.idempotentSends) return;
    if (part.flagged || clock.now() - delivery.createdAtMs > ambiguousFenceMs)
      throw new Fault("ambiguous", "it may have been written anew already");
    await record(lane, [{ delivery: delivery.id, part: index, to: "sending", attempt: part.attempts + 2 }]);
  }

  async function sendPart(lane: LaneContext, at: PartContext, mayHaveArrived: boolean): Promise<Receipt> {
    const timeout = deadline(clock, sendTimeoutMs, "the platform's answer");
    try {
      const signal = AbortSignal.any([lane.lease.signal, timeout.signal]);
      return await sender.send(lane.channel, lane.to, at.part, {
        lateMs: at.index === 0 ? lateMs(at.delivery, clock.now()) : 0,
        beforeAnew: () => risked(lane, at),
        idempotencyKey: `${at.delivery.id}/${at.index}`,
        signal,
        ...(at.index === 0 && at.answers.length > 0 ? { answers: at.answers, mayHaveArrived } : {}),
        ...(at.follows === null ? {} : { follows: JSON.parse(at.follows) as Receipt }),
      });
    } finally {
      timeout.cancel();
    }
  }
}
