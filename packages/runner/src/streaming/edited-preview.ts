// Shows a growing answer on platforms whose messages can be edited. The preview is sent once, journaled
// through the outbox, and then only edited, so that a crash may repeat an edit but never content (I5). It
// opens only once the parser has visible text.
import type { Channel } from "@parley/channels";
import { accountKey, isFault, sleep, type Receipt, deadline, formatContent } from "@parley/protocol";
import type { NewDelivery } from "@parley/store";
import { previewText } from "@parley/delivery";
import type { TurnJournal } from "../turn-journal.ts";
import type { Services, TurnScope } from "../turn-scope.ts";

export interface Preview {
  /** Takes the visible text so far, and the id of the message to quote. */
  show(markdown: string, replyTo?: string): void;
  /** Sends nothing more and resolves once nothing is under way. It may be called again. */
  close(): Promise<Previewed>;
}

/** The part of the answer that people saw before its commit. */
export interface Previewed {
  /** The id of the open delivery that the answer replaces. */
  readonly open: string | null;
  /** The beginning of the answer, where it went out for good. */
  readonly said: string;
}

/** An answer that is complete sooner needs no preview. */
const openAfterMs = 900;
/** Platforms count edits against their limits like messages. */
const editEveryMs = { dm: 1_000, group: 3_000, channel: 1_500 } as const;
const receiptPollMs = 100;
const editTimeoutMs = 15_000;
/**
 * An edit with an unknown result arrives within this time or never, so it cannot undo the final text
 * afterwards.
 */
const doubtMs = 2_000;

/** A turn's preview is the first of it unless a call sent something in between. */
function previewOf(turn: string, before: number): string {
  return before === 0 ? `${turn}/preview` : `${turn}/preview/${before}`;
}

export function editedPreview(
  { outbox, clock }: Pick<Services, "outbox" | "clock">,
  scope: Pick<TurnScope, "turn" | "address" | "lease" | "signal" | "log">,
  channel: Channel,
  journal: TurnJournal,
): Preview {
  const { address, lease, signal: over, log } = scope;
  const { id: turn, conversation } = scope.turn;
  const act = channel.act?.bind(channel);
  let opened: string | null = journal.previews.at(-1)?.delivery ?? null;
  let latest = "";
  /** The message to quote, fixed at sending because no later edit can add it. */
  let quoted: string | undefined;
  let closed = false;
  let doubtUntilMono = 0;
  const closing = new AbortController();
  let work: Promise<void> | null = opened === null ? null : quietly(edit(opened));

  function show(markdown: string, replyTo?: string): void {
    latest = markdown;
    quoted = replyTo;
    work ??= quietly(open());
  }

  /** A failed preview costs nothing but itself, and the turn itself notices a lost lease. */
  function quietly(running: Promise<void>): Promise<void> {
    return running.catch((error: unknown) => log.info({ turn, error }, "the preview ended early"));
  }

  async function open(): Promise<void> {
    await sleep(clock, openAfterMs, closing.signal);
    if (closed || over.aborted) return;
    const id = previewOf(turn, journal.opened);
    const delivery: NewDelivery = {
      id,
      pool: accountKey(address),
      lane: conversation,
      cause: turn,
      open: true,
      parts: [
        {
          content: formatContent({
            v: 1,
            kind: "preview",
            markdown: latest,
            ...(quoted === undefined ? {} : { replyTo: quoted }),
          }),
        },
      ],
    };
    // The id is set before the write, so that the turn's end closes the preview even when the write's answer
    // is lost. Closing a preview that does not exist is harmless.
    opened = id;
    await journal.post({ delivery: id }, [delivery]);
    await edit(id);
  }

  async function edit(id: string): Promise<void> {
    const receipt = await sent(id);
    let shown = "";
    while (receipt !== null && !closed && !over.aborted) {
      const text = previewText(latest, channel);
      if (text !== null && text.plain !== shown) {
        const waitMs = await editOnce(receipt, text);
        if (waitMs === null) return;
        // Text that was not shown is tried again, even when the answer grows no further.
        if (waitMs === 0) shown = text.plain;
        await sleep(clock, waitMs, closing.signal);
      }
      await sleep(clock, editEveryMs[address.kind], closing.signal);
    }
  }

  /** Returns how long the platform wants us to wait, or null when editing is no longer possible. */
  async function editOnce(
    receipt: Receipt,
    text: NonNullable<ReturnType<typeof previewText>>,
  ): Promise<number | null> {
    const timeout = deadline(clock, editTimeoutMs, "an edit");
    try {
      const signal = AbortSignal.any([over, timeout.signal]);
      // A process that was paused, and whose turn another node now runs, must not edit over it.
      await lease.cover(editTimeoutMs);
      await act?.(
        address,
        { kind: "edit", messageId: receipt.messageId, text },
        { idempotencyKey: `${turn}/edit`, signal },
      );
      return 0;
    } catch (error) {
      if (isFault(error, "rate_limited")) return error.retryAfterMs ?? editEveryMs[address.kind];
      log.debug({ turn, error }, "preview edit failed; the final answer will be written all the same");
      if (isFault(error, "ambiguous")) doubtUntilMono = clock.mono() + doubtMs;
      return isFault(error, "unavailable") || isFault(error, "ambiguous") ? editEveryMs[address.kind] : null;
    } finally {
      timeout.cancel();
    }
  }

  /** Returns the receipt of the preview's message once it was sent, or null when it never will be. */
  async function sent(id: string): Promise<Receipt | null> {
    while (!closed && !over.aborted) {
      const [delivery] = await outbox.find({ id, limit: 1 });
      const part = delivery?.parts[0];
      if (part === undefined || part.state === "failed" || part.state === "ambiguous") return null;
      if (part.receipt !== null) return JSON.parse(part.receipt) as Receipt;
      await sleep(clock, receiptPollMs, closing.signal);
    }
    return null;
  }

  return {
    show,
    async close() {
      closed = true;
      closing.abort();
      await work;
      const doubtLeftMs = doubtUntilMono - clock.mono();
      if (doubtLeftMs > 0) await sleep(clock, doubtLeftMs, over);
      return { open: opened, said: "" };
    },
  };
}

/** Stands in where nothing can be edited, or the account does not want it. */
export const noPreview: Preview = { show() {}, close: async () => ({ open: null, said: "" }) };
