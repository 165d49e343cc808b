// Tells hooks of messages: what somebody wrote, what was heard in it, and what the agent reads. A turn that
// begins again after a crash tells them nothing more.
import { parseRowPayload, type HookEvent, type HookPort, type Inbound } from "@parley/protocol";
import type { Row, Turn } from "@parley/store";
import type { TurnMedia } from "../media/attachments.ts";

export function messageContext(inbound: Inbound): HookEvent["context"] {
  const { address, sender, channel, account, text, messageId, atMs, attachments, guild } = inbound;
  return {
    from: sender.id,
    content: text,
    timestamp: atMs,
    channelId: channel,
    accountId: account,
    conversationId: address.peer,
    messageId,
    isGroup: address.kind !== "dm",
    media: attachments.map(({ kind, name, mediaType }) => ({ kind, name, mediaType })),
    metadata: { senderId: sender.id, senderName: sender.name, threadId: address.thread, guildId: guild },
  };
}

/** `rows`: the people's messages that the turn opens with, whose files were fetched. */
export function tellPreprocessed(
  port: HookPort,
  { lane, attempt }: Pick<Turn, "lane" | "attempt">,
  rows: readonly Row[],
  read: TurnMedia["read"],
): void {
  if (attempt > 1) return;
  for (const row of rows) {
    const { inbound, internal } = parseRowPayload(row.payload);
    if (internal !== undefined || inbound.channel === "hook") continue;
    const bodyForAgent = read(row).inbound.text;
    // What was heard stands behind what was written.
    const spoken = bodyForAgent.slice(inbound.text.length).trim();
    const context = {
      ...messageContext(inbound),
      bodyForAgent,
      ...(spoken === "" ? {} : { transcript: spoken }),
    };
    if (spoken !== "") port.tell({ type: "message", action: "transcribed", sessionKey: lane, context });
    port.tell({ type: "message", action: "preprocessed", sessionKey: lane, context });
  }
}
