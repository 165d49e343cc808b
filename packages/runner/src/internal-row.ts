// Builds a row that Parley itself writes into the lane of an earlier turn, when something that turn began
// ends later. The row has that turn's address and authority, and its id tells the store a repeat.
import type { NewRow, RowView } from "@parley/store";
import {
  conversationKey,
  formatRowPayload,
  parseRowPayload,
  type Address,
  type InternalRow,
} from "@parley/protocol";

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

/** The same row for the place where its session goes on now; unchanged where it was not handed over. */
export function movedTo(row: NewRow, place: Address | null): NewRow {
  if (place === null || conversationKey(place) === row.conversation) return row;
  const payload = parseRowPayload(row.payload);
  const { guild: _guild, parent: _parent, ...inbound } = payload.inbound;
  const { channel, account, peer } = place;
  const sender = { ...inbound.sender, id: peer };
  return {
    ...row,
    conversation: conversationKey(place),
    payload: formatRowPayload({
      ...payload,
      inbound: { ...inbound, channel, account, address: place, sender },
    }),
  };
}
