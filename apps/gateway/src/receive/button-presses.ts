// Reads pressed buttons: finds their meaning, counts each once, and ends the platform's waiting indicator. A
// press is claimed in a cell under its own id, so a redelivered one is still the first. It is acknowledged to
// the platform only once it is durable (I1).
import { createHash } from "node:crypto";
import type { Channel } from "@parley/channels";
import {
  accountKey,
  conversationKey,
  type ChannelEvent,
  type Clock,
  type Inbound,
  type Log,
  deadline,
} from "@parley/protocol";
import type { Cells } from "@parley/store";
import { pressedValue, type Pressed } from "@parley/delivery";

export interface ButtonPresses {
  /**
   * Returns the press with its button's value, or why it does not count. Other events come back unchanged.
   */
  read(inbound: Inbound): Promise<ReadPress | { readonly unwanted: string }>;
  /** Resolves with whether this press is the first of its button. */
  claim(press: Inbound): Promise<boolean>;
  /** Ends the waiting that people see at the button. Call it for durable events; failures are only logged. */
  acknowledge(events: readonly ChannelEvent[]): Promise<void>;
}

export interface ReadPress {
  readonly inbound: Inbound;
  /** True when its text may be a command: somebody typed it, or Parley wrote the button. */
  readonly commands: boolean;
}

export interface ButtonPressesOptions {
  readonly cells: Pick<Cells, "get" | "put">;
  readonly channel: (account: string) => Channel | null;
  readonly clock: Clock;
  readonly log: Log;
}

const claimLifeMs = 90 * 86_400_000;
const answerTimeoutMs = 10_000;

export function buttonPresses({ cells, channel, clock, log }: ButtonPressesOptions): ButtonPresses {
  async function answer(press: Inbound, callbackId: string): Promise<void> {
    const act = channel(accountKey(press))?.act;
    if (act === undefined) return;
    const timeout = deadline(clock, answerTimeoutMs, "the answer to a press");
    try {
      const text = await remark(press);
      const action = { kind: "answerCallback", callbackId, ...(text === null ? {} : { text }) } as const;
      await act(press.address, action, { idempotencyKey: press.id, signal: timeout.signal });
    } catch (error) {
      // The press counts all the same, and the platform ends the waiting by itself.
      log.debug({ id: press.id, error }, "a press could not be acknowledged");
    } finally {
      timeout.cancel();
    }
  }

  /** The text for whoever pressed; null when the press does what it says. */
  async function remark(press: Inbound): Promise<string | null> {
    const meant = await meaning(press);
    if ("remark" in meant) return meant.remark;
    const first = await cells.get(claimCell(press));
    return first === null || first.value === press.id ? null : "This was already pressed.";
  }

  /** The meaning of the press, or the text for whoever pressed in vain. */
  async function meaning({
    address,
    sender,
    callback,
  }: Inbound): Promise<Pressed | { readonly remark: string }> {
    const pressed = await pressedValue(cells, callback?.value ?? "", address);
    if (pressed === "foreign") return { remark: "This button is no longer in use." };
    if (pressed === "gone" || (pressed.untilMs !== undefined && clock.now() >= pressed.untilMs))
      return { remark: "This button is too old." };
    if (pressed.allowed !== undefined && !pressed.allowed.includes(sender.id))
      return { remark: "This button is not for you." };
    return pressed;
  }

  return {
    async read(inbound) {
      if (inbound.kind !== "callback") return { inbound, commands: true };
      const meant = await meaning(inbound);
      if ("remark" in meant) return { unwanted: meant.remark };
      const { value, commands = false } = meant;
      const callback = { id: inbound.callback?.id ?? inbound.id, value };
      return { inbound: { ...inbound, text: value, callback }, commands };
    },
    async claim(press) {
      const key = claimCell(press);
      if ((await cells.put(key, press.id, { expect: 0, ttlMs: claimLifeMs })) !== null) return true;
      return (await cells.get(key))?.value === press.id;
    },
    async acknowledge(events) {
      await Promise.all(
        events.map((event) =>
          event.kind === "callback" && event.callback !== undefined
            ? answer(event, event.callback.id)
            : Promise.resolve(),
        ),
      );
    },
  };
}

/** One cell per button of each message: a long value and its short name are the same button. */
function claimCell({ address, replyTo, callback, id }: Inbound): string {
  const button = createHash("sha256")
    .update(callback?.value ?? "")
    .digest("base64url")
    .slice(0, 22);
  return `press:${conversationKey(address)}:${replyTo?.messageId ?? id}:${button}`;
}
