// Builds a row that Parley itself writes into the lane of an earlier turn, when something that turn began
// ends later. The row has that turn's address and authority, and its id tells the store a repeat.
import type { NewRow, RowView } from "@parley/store";
import { formatRowPayload, parseRowPayload, type InternalRow } from "@parley/protocol";

/** `began`: a row of the turn that began it. */
export function internalRow(
  began: Pick<RowView, "payload" | "pool" | "lane" | "conversation" | "authority">,
  id: string,
  text: string,
  internal: InternalRow,
  nowMs: number,
): NewRow {
  const { inbound, owner } = parseRowPayload(began.payload);
  const { guild, parent, channel, account, address, sender } = inbound;
  return {
    id,
    pool: began.pool,
    lane: began.lane,
    conversation: began.conversation,
    authority: began.authority,
    as: { kind: "work" },
    payload: formatRowPayload({
      v: 1,
      inbound: {
        id,
        channel,
        account,
        address,
        sender: { id: sender.id, name: "Parley", isBot: false },
        messageId: id,
        kind: "message",
        text,
        attachments: [],
        mentions: [],
        addressed: true,
        ...(guild === undefined ? {} : { guild }),
        ...(parent === undefined ? {} : { parent }),
        atMs: nowMs,
      },
      owner,
      internal,
    }),
  };
}
