// One outbox lane while it is held: its deliveries in order, each part sent once. Keeps I4 (order, contiguous chunks), I5 (what may repeat
// and when) and I6 (to the address that the lane is).
import {
  isFault,
  parseConversationKey,
  sleep,
  type Address,
  type Clock,
  type Log,
  type Receipt,
  type RenderedPart,
} from "@parley/protocol";
import { chatIsClosed, migratedChatId, type Channel } from "@parley/channels";
import type { Change, DeliveryView, NewDelivery, Outbox, Parcel, PartView } from "@parley/store";
import type { Held, WorkEnd } from "@parley/queue";
import { deadline } from "../deadline.ts";
import type { MovedChats } from "../inbound/moved-chats.ts";
import type { ClosedChats } from "./closed-chats.ts";
import { partSender } from "./send-part.ts";
import { formatContent, parseContent, type Meant } from "./content.ts";
import { untilStored } from "../until-stored.ts";
import type { Pacer } from "./pacer.ts";
import { readBack } from "./read-back.ts";

export interface DeliverOptions {
  readonly outbox: Outbox;
  /** The channel of the account; null while the config has none. */
  readonly channel: () => Channel | null;
  /** The lane keeps a chat's old id; what is sent goes to where the chat is now. */
  readonly moved: Pick<MovedChats, "current" | "learn">;
  readonly closed: Pick<ClosedChats, "reason" | "close">;
  readonly render: (content: Meant, channel: Channel, lateMs: number) => readonly RenderedPart[];
  readonly pacer: Pacer;
  /** Resolves when nobody else edits this message of ours any more. */
  readonly beforeEdit?: (messageId: string) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  /** Ids of the rows behind a cause, so that one id can be followed through the log to the receipt. Never rejects. */
  readonly rowsOf: (cause: string) => Promise<readonly string[]>;
  /** Told of each delivery that ended in trouble, once it is recorded. */
  readonly onTrouble: (delivery: DeliveryView, reason: string) => void;
  /** Told of each part that was sent, once it is recorded. */
  readonly onSent: (delivery: DeliveryView, part: number, receipt: Receipt) => void;
}

/** An answer whose outcome is unknown is sent again only while it is fresh: nobody wants yesterday's reply twice. */
const ambiguousFenceMs = 15 * 60_000;
/** What certainly was not sent stays useful for a day. */
const queuedFenceMs = 24 * 3_600_000;
/** Later than this a reply says that it is late. */
const lateAfterMs = 15 * 60_000;
/** Longest that one platform request may take; the lease outlives it. */
const sendTimeoutMs = 30_000;
/** A wait longer than this gives the lane back instead of holding a slot. */
const holdWaitMs = 5_000;
const missingAccountRetryMs = 30_000;
const unknownRetryMs = 1_500;
/** Where our messages cannot be read back, an idempotency key is trusted this long: Discord keeps one for "a few minutes". */
const keyLivesMs = 120_000;

export type Deliver = (parcel: Parcel, held: Held) => Promise<WorkEnd>;

/** What one part came to: go on with the next, or give the lane back. */
type Step = { readonly next: true; readonly change?: Change } | { readonly release: WorkEnd };

export function deliverer(options: DeliverOptions): Deliver {
  const { outbox, pacer, clock, log } = options;
  const sender = partSender();

  return async (parcel, held) => {
    const channel = options.channel();
    if (channel === null) return { afterMs: missingAccountRetryMs, reason: "the account is not configured", refund: true };
    const to = options.moved.current(parseConversationKey(parcel.lane));
    for (const delivery of parcel.deliveries) {
      if (editsEarlier(parcel, delivery)) return { afterMs: 0, reason: "what it edits was sent just now", refund: true };
      const end = await deliverOne({ parcel, held, channel, to }, delivery);
      if (end !== null) return end;
    }
    return { afterMs: 0, reason: "delivered", refund: true };
  };

  interface Place {
    readonly parcel: Parcel;
    readonly held: Held;
    readonly channel: Channel;
    readonly to: Address;
  }

  function record(place: Place, changes: readonly Change[]): Promise<void> {
    return untilStored(place.held, clock, () => outbox.record(place.parcel, changes));
  }

  /** Null when the delivery is done. */
  async function deliverOne(place: Place, delivery: DeliveryView): Promise<WorkEnd | null> {
    const { parts, split } = planned(place.channel, delivery);
    if (parts.length === 0) {
      await record(place, [{ delivery: delivery.id, part: 0, to: "failed", reason: "there is nothing to see in it" }]);
      return null;
    }
    const rows = await options.rowsOf(delivery.cause);
    const told = log.child({ delivery: delivery.id, lane: delivery.lane, cause: delivery.cause, rows });
    const closed = await options.closed.reason(place.to);
    const begins = delivery.parts.findIndex((part) => part.state === "queued" || part.state === "sending");
    if (closed !== null && delivery.parts[begins]?.state === "queued") {
      return failRest(
        place,
        delivery,
        begins,
        delivery.parts.length,
        { delivery: delivery.id, part: begins, to: "failed", reason: closed },
        told,
      );
    }
    let current = delivery;
    /** What became of the part before: journaled together with the next `sending`, in one commit. */
    let owed: Change[] = [];
    for (let index = 0; index < parts.length; index += 1) {
      const part = parts[index];
      if (part === undefined || part.state === "sent" || part.state === "failed" || part.state === "ambiguous") continue;
      const follows = owed[0]?.to === "sent" ? owed[0].receipt : (parts[index - 1]?.receipt ?? null);
      const step = await deliverPart(place, {
        delivery: current,
        part,
        index,
        owed,
        split: index === 0 ? split : null,
        rows,
        follows,
        log: told,
      });
      owed = "change" in step && step.change !== undefined ? [step.change] : [];
      if ("release" in step) return step.release;
      if (owed[0]?.to === "failed") return failRest(place, current, index, parts.length, owed[0], told);
      current = { ...current, parts };
    }
    if (owed.length > 0) await record(place, owed);
    // An open preview keeps the head; whoever closes it makes the lane due again.
    return delivery.open ? { afterMs: 0, reason: "preview is open", refund: true } : null;
  }

  async function failRest(place: Place, delivery: DeliveryView, from: number, count: number, failure: Change, told: Log): Promise<null> {
    const reason = "reason" in failure ? failure.reason : "an earlier part failed";
    const changes: Change[] = [failure];
    for (let part = from + 1; part < count; part += 1)
      changes.push({ delivery: delivery.id, part, to: "failed", reason: `an earlier part failed: ${reason}` });
    await record(place, changes);
    told.warn({ reason }, "delivery failed for good");
    options.onTrouble(delivery, reason);
    return null;
  }

  /** The parts as they will be sent. Splits and renders once; a delivery that was begun keeps what it was split into. */
  function planned(
    channel: Channel,
    delivery: DeliveryView,
  ): { readonly parts: readonly PartView[]; readonly split: readonly RenderedPart[] | null } {
    const [first] = delivery.parts;
    if (delivery.split || first === undefined) return { parts: delivery.parts, split: null };
    const content = parseContent(first.content);
    if (content.kind !== "reply" && content.kind !== "preview") return { parts: delivery.parts, split: null };
    const rendered = options.render(content, channel, lateMs(delivery));
    const parts = rendered.map((part, index) => ({
      ...first,
      ...(index === 0 ? {} : { intoReceipt: null }),
      content: formatContent({ v: 1, kind: "rendered", part }),
    }));
    return { parts, split: rendered };
  }

  /** 0 while it is on time. */
  function lateMs(delivery: DeliveryView): number {
    const ageMs = clock.now() - delivery.createdAtMs;
    return ageMs > lateAfterMs ? ageMs : 0;
  }

  interface PartPlace {
    readonly delivery: DeliveryView;
    readonly part: PartView;
    readonly index: number;
    readonly owed: readonly Change[];
    readonly split: readonly RenderedPart[] | null;
    readonly rows: readonly string[];
    /** Receipt of the part before, as JSON text. */
    readonly follows: string | null;
    /** Names the delivery and what caused it. */
    readonly log: Log;
  }

  async function deliverPart(place: Place, at: PartPlace): Promise<Step> {
    const { delivery, part, index } = at;
    const name = { delivery: delivery.id, part: index };
    const ageMs = clock.now() - delivery.createdAtMs;
    const before = part.state === "sending" && part.intoReceipt === null ? await arrived(place, at) : "not there";
    if (typeof before === "object") return before;
    const isTrusted = before === "not there" || clock.now() - part.startedAtMs <= keyLivesMs;
    const repeats = (place.channel.capabilities.idempotentSends && isTrusted) || part.intoReceipt !== null;
    if (part.state === "sending" && !repeats && (part.flagged || ageMs > ambiguousFenceMs)) {
      return ambiguous(delivery, name, part.reason ?? "the process ended while it was being sent", at.owed, place);
    }
    if (part.state === "queued" && ageMs > queuedFenceMs) {
      if (at.owed.length > 0) await record(place, at.owed);
      return { next: true, change: { ...name, to: "failed", reason: "older than a day" } };
    }
    const waitMs = pacer.reserve(delivery.lane, place.to.kind !== "dm", holdWaitMs);
    let { owed } = at;
    if (owed.length > 0 && (waitMs > 0 || place.held.signal.aborted)) {
      // What arrived is known now; a crash or a stop before the next part must not make it unknown again.
      await record(place, owed);
      owed = [];
    }
    if (waitMs > holdWaitMs) return { release: { afterMs: waitMs, reason: "pacing", refund: true } };
    if (waitMs > 0) await sleep(clock, waitMs, place.held.signal);
    if (part.intoReceipt !== null) await options.beforeEdit?.((JSON.parse(part.intoReceipt) as Receipt).messageId);
    await untilStored(place.held, clock, () => place.held.cover(sendTimeoutMs + 5_000));
    const begun: Change = {
      ...name,
      to: "sending",
      attempt: part.attempts + 1,
      idempotent: repeats,
      ...(at.split === null ? {} : { split: at.split.map((rendered, n) => splitPart(delivery, rendered, n)) }),
    };
    try {
      await record(place, [...owed, begun]);
    } catch (error) {
      if (!(await wasReplaced(delivery, error))) throw error;
      return { release: { afterMs: 0, reason: "the answer took the preview's place before it was sent", refund: true } };
    }
    try {
      const receipt = await sendPart(place, at);
      at.log.info({ part: index, messageId: receipt.messageId }, "sent");
      options.onSent(delivery, index, receipt);
      return { next: true, change: { ...name, to: "sent", receipt: JSON.stringify(receipt) } };
    } catch (error) {
      return sendFailed(place, at, error);
    }
  }

  /** A part of unknown outcome that had arrived is sent; else whether its repeat is surely the only one. */
  async function arrived(place: Place, at: PartPlace): Promise<Step | "not there" | "unknown"> {
    const { delivery, part, index } = at;
    if (at.owed.length > 0) await record(place, at.owed);
    const found = await readBack(options, { ...place, signal: place.held.signal }, delivery, part);
    if (typeof found === "string") return found;
    if ("reason" in found) return { release: { afterMs: found.againAfterMs ?? unknownRetryMs, reason: found.reason, refund: true } };
    at.log.info({ part: index, messageId: found.messageId }, "had arrived");
    options.onSent(delivery, index, found);
    return { next: true, change: { delivery: delivery.id, part: index, to: "sent", receipt: JSON.stringify(found) } };
  }

  /** A turn may end while its preview still waits here: then the lane is to be looked at anew, because the answer is in it. */
  async function wasReplaced(delivery: DeliveryView, error: unknown): Promise<boolean> {
    if (!delivery.open || !isFault(error, "invalid")) return false;
    const [found] = await outbox.find({ id: delivery.id, limit: 1 });
    return found?.done === true;
  }

  /** The first rendered message takes the preview's place, if the delivery had one to edit. */
  function splitPart(delivery: DeliveryView, part: RenderedPart, index: number): NewDelivery["parts"][number] {
    const into = index === 0 ? delivery.parts[0]?.into : undefined;
    return { content: formatContent({ v: 1, kind: "rendered", part }), ...(into === undefined ? {} : { into }) };
  }

  async function sendPart(place: Place, at: PartPlace): Promise<Receipt> {
    const timeout = deadline(clock, sendTimeoutMs, "the platform's answer");
    try {
      const signal = AbortSignal.any([place.held.signal, timeout.signal]);
      const late = at.index === 0 ? lateMs(at.delivery) : 0;
      return await sender.send(place.channel, place.to, at.part, late, {
        idempotencyKey: `${at.delivery.id}/${at.index}`,
        signal,
        ...(at.index === 0 ? { answers: at.rows } : {}),
        ...(at.follows === null ? {} : { follows: JSON.parse(at.follows) as Receipt }),
      });
    } finally {
      timeout.cancel();
    }
  }

  async function sendFailed(place: Place, at: PartPlace, error: unknown): Promise<Step> {
    const { delivery, index, part } = at;
    const name = { delivery: delivery.id, part: index };
    if (!isFault(error)) throw error;
    at.log.warn({ part: index, code: error.code, reason: error.message }, "could not send");
    const newPeer = migratedChatId(error);
    if (newPeer !== null) {
      // The send tells it before the group's own message does, or in place of one that we missed.
      await options.moved.learn(place.to, place.to.peer, newPeer);
      await record(place, [{ ...name, to: "queued", reason: error.message }]);
      return { release: { afterMs: 0, reason: error.message, refund: true } };
    }
    switch (error.code) {
      case "rate_limited": {
        const afterMs = error.retryAfterMs ?? 1_000;
        pacer.limited(delivery.lane, afterMs);
        await record(place, [{ ...name, to: "queued", reason: error.message }]);
        return { release: { afterMs, reason: error.message, refund: true } };
      }
      case "unavailable":
      case "aborted":
        await record(place, [{ ...name, to: "queued", reason: error.message }]);
        throw error;
      case "conflict":
        throw error;
      case "ambiguous": {
        const repeats = place.channel.capabilities.idempotentSends || part.intoReceipt !== null;
        const again = sender.mayRepeat(error) && (repeats || part.state === "queued");
        // The part stays `sending`; under the next lease that reads as "outcome unknown", which is what it is.
        if (again && clock.now() - delivery.createdAtMs <= ambiguousFenceMs) {
          return { release: { afterMs: unknownRetryMs, reason: error.message, refund: true } };
        }
        return ambiguous(delivery, name, error.message, [], place);
      }
      case "invalid":
      case "unsupported":
      case "denied":
      case "missing":
        if (chatIsClosed(error)) await options.closed.close(place.to, error.message);
        return { next: true, change: { ...name, to: "failed", reason: error.message } };
    }
  }

  async function ambiguous(
    delivery: DeliveryView,
    name: { delivery: string; part: number },
    reason: string,
    owed: readonly Change[],
    place: Place,
  ): Promise<Step> {
    await record(place, [...owed, { ...name, to: "ambiguous", reason }]);
    options.onTrouble(delivery, `it is not known whether it arrived: ${reason}`);
    return { next: true };
  }
}

/** A parcel was read when it was taken: it does not have the receipts of what was sent out of it since. */
function editsEarlier({ deliveries }: Parcel, delivery: DeliveryView): boolean {
  const into = delivery.parts[0]?.into;
  return into !== undefined && deliveries.slice(0, deliveries.indexOf(delivery)).some((earlier) => into.startsWith(`${earlier.id}/`));
}
