// Pressed buttons: what each means, that each counts once, and that the person sees it was taken. A press is claimed in a cell under its
// own id, so a redelivered one is still the first; it is acknowledged to the platform only once it is durable (I1).
import { createHash } from "node:crypto";
import type { Channel } from "@parley/channels";
import { accountKey, conversationKey, type Clock, type Inbound, type Log, type Unreadable } from "@parley/protocol";
import type { Cells } from "@parley/store";
import { deadline } from "../deadline.ts";
import { fullValue } from "../outbound/button-values.ts";

export interface Presses {
  /** The press with the value that its button was given; null when that is gone. Anything but a press comes back as it is. */
  read(inbound: Inbound): Promise<Inbound | null>;
  /** Whether this press is the first of its button. */
  claim(press: Inbound): Promise<boolean>;
  /** Ends the waiting that people see at the button. Call it for events that are durable; failures stay here. */
  acknowledge(events: readonly (Inbound | Unreadable)[]): Promise<void>;
}

export interface PressesOptions {
  readonly cells: Pick<Cells, "get" | "put">;
  readonly channel: (account: string) => Channel | null;
  readonly clock: Clock;
  readonly log: Log;
}

const claimLifeMs = 90 * 86_400_000;
const answerTimeoutMs = 10_000;

export function presses({ cells, channel, clock, log }: PressesOptions): Presses {
  async function answer(press: Inbound, callbackId: string): Promise<void> {
    const act = channel(accountKey(press))?.act;
    if (act === undefined) return;
    const timeout = deadline(clock, answerTimeoutMs, "the answer to a press");
    try {
      const text = await remark(press);
      const action = { kind: "answerCallback", callbackId, ...(text === null ? {} : { text }) } as const;
      await act(press.address, action, { idempotencyKey: press.id, signal: timeout.signal });
    } catch (error) {
      // The press counts all the same; the platform ends the waiting by itself.
      log.debug({ id: press.id, error }, "a press could not be acknowledged");
    } finally {
      timeout.cancel();
    }
  }

  /** For the one who pressed; null when the press does what it says. */
  async function remark(press: Inbound): Promise<string | null> {
    if ((await fullValue(cells, press.callback?.value ?? "")) === null) return "This button is too old.";
    const first = await cells.get(claimCell(press));
    return first === null || first.value === press.id ? null : "This was already pressed.";
  }

  return {
    async read(inbound) {
      if (inbound.callback === undefined) return inbound;
      const value = await fullValue(cells, inbound.callback.value);
      return value === null ? null : { ...inbound, text: value, callback: { ...inbound.callback, value } };
    },
    async claim(press) {
      const key = claimCell(press);
      if ((await cells.put(key, press.id, { expect: 0, ttlMs: claimLifeMs })) !== null) return true;
      return (await cells.get(key))?.value === press.id;
    },
    async acknowledge(events) {
      await Promise.all(
        events.map((event) =>
          event.kind === "callback" && event.callback !== undefined ? answer(event, event.callback.id) : Promise.resolve(),
        ),
      );
    },
  };
}

/** One cell for each button of each message. The short name of a long value and the value itself are one button. */
function claimCell({ address, replyTo, callback, id }: Inbound): string {
  const button = createHash("sha256")
    .update(callback?.value ?? "")
    .digest("base64url")
    .slice(0, 22);
  return `press:${conversationKey(address)}:${replyTo?.messageId ?? id}:${button}`;
}
