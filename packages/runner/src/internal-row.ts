// Builds a row that Parley itself writes into the lane of an earlier turn, when something that turn began
// ends later. The row has that turn's address and authority, and its id tells the store a repeat. What other
// sessions caused stays known as such: how many messages between sessions led here, and that nobody sees it.
import type { PlaceOf } from "@parley/access";
import type { NewRow, RowView } from "@parley/store";
import {
  conversationKey,
  formatRowPayload,
  parseConversationKey,
  isFault,
  parseRowPayload,
  type Address,
  type InternalRow,
} from "@parley/protocol";

/** Messages between sessions, one caused by the other, that led to this row. */
export function hopsOf({ payload }: Pick<RowView, "payload">): number {
  const { internal } = parseRowPayload(payload);
  return internal?.asker?.hops ?? internal?.hops ?? 0;
}

/** Null also for a row that this build cannot read: such a turn must still be buried. */
export function internalOf({ payload }: Pick<RowView, "payload">): InternalRow | null {
  try {
    return parseRowPayload(payload).internal ?? null;
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}

/** True for another session's message, and for what came of a turn that nobody saw. */
export function isUnseenRow(row: Pick<RowView, "payload">): boolean {
  const internal = internalOf(row);
  return internal?.unseen ?? internal?.kind === "message";
}

/** What a turn that read text of strangers leaves for another is marked as that text is. */
export function marked({
  untrusted,
}: {
  readonly untrusted?: string | undefined;
}): Pick<InternalRow, "untrusted"> {
  return untrusted === undefined ? {} : { untrusted };
}

/**
 * `began`: a row of the turn that began it. Its id is its ticket, so that it wakes no turn that waits for
 * something else, such as a person's answer.
 */
export function internalRow(
  began: Pick<RowView, "payload" | "pool" | "lane" | "conversation" | "authority">,
  id: string,
  text: string,
  internal: InternalRow,
  nowMs: number,
): NewRow {
  const { inbound, owner } = parseRowPayload(began.payload);
  const { guild, parent, channel, account, address, sender } = inbound;
  const hops = hopsOf(began);
  const caused = {
    ...marked(internalOf(began) ?? {}),
    ...(internal.asker === undefined && hops > 0 ? { hops } : {}),
    ...(isUnseenRow(began) ? { unseen: true } : {}),
  };
  return {
    id,
    pool: began.pool,
    lane: began.lane,
    conversation: began.conversation,
    authority: began.authority,
    as: isGuidance(internal) ? { kind: "work" } : { kind: "work", ticket: id },
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
      internal: { ...caused, ...internal },
    }),
  };
}

/** As `internalRow`, for the place where the session goes on now. */
export function followingRow(
  began: Parameters<typeof internalRow>[0],
  id: string,
  text: string,
  internal: InternalRow,
  { placeOf, nowMs }: { readonly placeOf: PlaceOf; readonly nowMs: number },
): NewRow {
  const row = internalRow(began, id, text, internal, nowMs);
  return movedTo(row, placeOf(began.lane, parseConversationKey(began.conversation)));
}

/** True for words to a sub-agent that runs, which wake it like a person's. */
function isGuidance({ kind, asker }: InternalRow): boolean {
  return kind === "message" && asker === undefined;
}

/** The same row for a thread or channel of the same chat. */
export function rowIn<R extends Pick<NewRow, "conversation" | "payload">>(row: R, place: Address): R {
  const payload = parseRowPayload(row.payload);
  const { parent: _parent, ...inbound } = payload.inbound;
  const isInside = place.kind === "channel" && place.thread !== undefined;
  return {
    ...row,
    conversation: conversationKey(place),
    payload: formatRowPayload({
      ...payload,
      inbound: { ...inbound, address: place, ...(isInside ? { parent: place.peer } : {}) },
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
