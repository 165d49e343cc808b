// Makes one part's platform call: a new message, an edit of an earlier one, its removal, or another action. A
// refused edit of a preview becomes a new message, which is then no longer safe to repeat (I5).
import { chatIsClosed, fileIsTooLarge, type Channel, type SendOptions } from "@parley/channels";
import {
  Fault,
  isFault,
  type Address,
  type Content,
  type Log,
  type Receipt,
  type RenderedPart,
  parseContent,
} from "@parley/protocol";
import type { LeaseHandle, WorkEnd } from "@parley/queue";
import type { Change, DeliveryBatch, DeliveryView, PartView } from "@parley/store";
import { inThread, placeOf } from "./opened-thread.ts";
import type { Planned } from "./plan.ts";
import { markedLate, wordsFor } from "./render.ts";

/** The lane under lease: its batch, its lease, its channel, and the address that its messages go to. */
export interface LaneContext {
  readonly batch: DeliveryBatch;
  readonly lease: LeaseHandle;
  readonly channel: Channel;
  readonly to: Address;
}

export interface PartContext {
  readonly delivery: DeliveryView;
  readonly part: PartView;
  readonly index: number;
  readonly owed: readonly Change[];
  readonly split: readonly Planned[] | null;
  /** Rows of this conversation that the delivery answers. */
  readonly answers: readonly string[];
  /** Receipt of the previous part, as JSON text. */
  readonly follows: string | null;
  /** The thread that an earlier part opened; the lane's address names it, too. */
  readonly thread: string | undefined;
  /** Carries the ids of the delivery and its cause. */
  readonly log: Log;
}

/** The outcome of one part: go on with the next, or release the lane. */
export type PartStep = { readonly next: true; readonly change?: Change } | { readonly release: WorkEnd };

/** Journals outcomes of parts; resolves once they are stored. */
export type RecordChanges = (lane: LaneContext, changes: readonly Change[]) => Promise<unknown>;

/**
 * An answer of unknown outcome is sent again only while it is fresh: nobody wants yesterday's reply twice.
 */
export const ambiguousFenceMs = 15 * 60_000;
/** Wait before the next look at an unknown outcome. */
export const unknownRetryMs = 1_500;

interface PartSending extends SendOptions {
  /** 0 for a message that is on time. */
  readonly lateMs: number;
  /** Awaited before a new message replaces a refused edit; throwing forbids the message. */
  readonly beforeAnew: () => Promise<void>;
}

export interface PartSender {
  /** Throws what the channel throws. */
  send(channel: Channel, to: Address, part: PartView, sending: PartSending): Promise<Receipt>;
  /** False when an edit became a new message of unknown outcome. */
  mayRepeat(error: Fault): boolean;
}

export function partSender(): PartSender {
  const unrepeatable = new WeakSet<Fault>();

  /** Sends a new message in place of a refused edit; people would see a repeat of it. */
  async function sendAnew(
    channel: Channel,
    to: Address,
    part: RenderedPart,
    stale: Receipt,
    { beforeAnew, ...how }: SendOptions & Pick<PartSending, "beforeAnew">,
  ): Promise<Receipt> {
    const sent = beforeAnew().then(() => channel.send(to, part, how));
    const receipt = await sent.catch((error: unknown) => {
      if (isFault(error, "ambiguous") && !channel.capabilities.idempotentSends) unrepeatable.add(error);
      throw error;
    });
    await channel.act?.(to, { kind: "remove", messageId: stale.messageId }, how).catch(() => {
      // The whole answer has arrived, so the old preview above it is no reason to send again.
    });
    return receipt;
  }

  return {
    mayRepeat: (error) => !unrepeatable.has(error),
    async send(channel, to, view, { lateMs, beforeAnew, ...how }) {
      const content = parseContent(view.content);
      const into = view.intoReceipt === null ? null : (JSON.parse(view.intoReceipt) as Receipt);
      if (content.kind === "remove") {
        if (into !== null) await channel.act?.(to, { kind: "remove", messageId: into.messageId }, how);
        if (how.answers !== undefined) await channel.settle?.(how.answers);
        return into ?? { messageId: "" };
      }
      if (content.kind === "act") return act(channel, placeOf(to, content.thread), content, how);
      // The forum's post began with this message.
      if (how.follows?.extra?.["opened"] === true) return { messageId: how.follows.messageId };
      if (content.kind !== "rendered") throw new Fault("invalid", "a part was sent before it was split");
      const part =
        lateMs > 0 && into === null
          ? markedLate(content.part, lateMs, channel.capabilities.textChars)
          : content.part;
      if (into === null || part.kind !== "text")
        return channel.send(to, part, how).catch((error: unknown) => {
          const words = fileIsTooLarge(error) ? wordsFor(part, channel) : null;
          if (words === null) throw error;
          return channel.send(to, words, how);
        });
      if (channel.act === undefined) return channel.send(to, part, { ...how, replaces: into.messageId });
      const { text, entities, plain, buttons } = part;
      try {
        const action = { kind: "edit", messageId: into.messageId, text: { text, entities, plain } } as const;
        await channel.act(to, { ...action, ...(buttons === undefined ? {} : { buttons }) }, how);
        return into;
      } catch (error) {
        // The preview is gone or cannot become this text, but the answer still belongs in the chat.
        if (isRefusal(error) && !chatIsClosed(error))
          return sendAnew(channel, to, part, into, { ...how, beforeAnew });
        throw error;
      }
    },
  };
}

/** Only an edit and a new thread have a receipt: what is only marked or gone may not be a message of ours. */
async function act(
  channel: Channel,
  to: Address,
  { action, thread }: Extract<Content, { kind: "act" }>,
  how: SendOptions,
): Promise<Receipt> {
  if (channel.act !== undefined) {
    const receipt = await channel.act(to, action, how);
    if (receipt === null || (action.kind !== "edit" && action.kind !== "createThread"))
      return { messageId: "" };
    return action.kind === "edit" ? inThread(receipt, thread) : receipt;
  }
  if (action.kind !== "edit")
    throw new Fault("unsupported", `${channel.name} cannot do this: ${action.kind}`);
  const { text, buttons, messageId } = action;
  const part = { kind: "text", ...text, ...(buttons === undefined ? {} : { buttons }) } as const;
  return channel.send(to, part, { ...how, replaces: messageId });
}

/** True when the platform changed nothing and would refuse again. */
function isRefusal(error: unknown): boolean {
  return isFault(error) && ["invalid", "unsupported", "denied", "missing"].includes(error.code);
}

/** The message of ours that a part edits; null when it edits none. */
export function editedMessage({ intoReceipt, content }: PartView): string | null {
  if (intoReceipt !== null) return (JSON.parse(intoReceipt) as Receipt).messageId;
  const made = parseContent(content);
  return made.kind === "act" && made.action.kind === "edit" ? made.action.messageId : null;
}
