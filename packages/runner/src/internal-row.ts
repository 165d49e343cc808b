// A row that Parley writes itself into the lane of a turn that was: for what that turn began and could not see the end of. It has the address
// and the authority of whoever was served then, and its id tells a repeat.
import type { NewRow, RowView } from "@parley/store";
import { formatRowPayload, parseRowPayload, type InternalRow } from "@parley/protocol";

/** `began`: a row of the turn. */
export function internalRow(
  began: RowView,
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
