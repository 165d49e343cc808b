// Says in the chat that a conversation is being summarised, and when that is done. The event names the
// conversation only where a person waits for the answer, so that what time or a program began says nothing.
import { textDelivery } from "@parley/delivery";
import { parseConversationKey } from "@parley/protocol";
import type { Outbox } from "@parley/store";
import type { BundledHook } from "./hook-runner.ts";

export function compactionNotifier(outbox: Pick<Outbox, "post">): BundledHook {
  return async ({ action, id, context }) => {
    const { conversation, messageCount } = context;
    if (typeof conversation !== "string" || id === undefined) return;
    const words =
      action === "compact:before"
        ? "🧹 I am summarising the beginning of our conversation, so this takes a little longer."
        : `🧹 Summarised: ${String(messageCount)} entries became a summary.`;
    // The event is told once at most, and the outbox takes an id once.
    await outbox.post([
      textDelivery(`notice:${action}:${id}`, parseConversationKey(conversation), words, id),
    ]);
  };
}
