// Finds the row that an operator means by any id between event and receipt, by where it was said, or by words
// of the message.
import { encodeKeyPart, type SessionKey } from "@parley/protocol";
import type { Inbox, Outbox, RowFilter, RowView } from "@parley/store";

export type FindMessage = (query: string, within?: Pick<RowFilter, "lane">) => Promise<RowView | null>;

/** A turn of more rows than this is shown by its newest. */
const rowsOfTurn = 200;

/**
 * Returns the newest match; ids of messages come before those of places, and these before words.
 * `within`: only rows of this session.
 */
export function findMessage(inbox: Pick<Inbox, "find">, outbox: Pick<Outbox, "find">): FindMessage {
  return async (query, within = {}) => {
    const row = async (filter: Omit<RowFilter, "limit">): Promise<RowView | null> =>
      (await inbox.find({ ...within, ...filter, dismissed: true, limit: 1 }))[0] ?? null;
    const ofCause = async (cause: string | undefined): Promise<RowView | null> =>
      cause === undefined ? null : ((await row({ id: cause })) ?? (await firstOfTurn(cause)));
    const firstOfTurn = async (turn: string): Promise<RowView | null> => {
      const rows = await inbox.find({ ...within, turn, dismissed: true, limit: rowsOfTurn });
      return rows.findLast((found) => found.outcome !== "context") ?? null;
    };
    const ofSession = async (key: string): Promise<RowView | null> =>
      within.lane === undefined || within.lane === key ? row({ lane: key as SessionKey }) : null;
    const ofEncoded = async (id: string): Promise<RowView | null> => {
      const place = id === "" || !id.isWellFormed() ? id : encodeKeyPart(id);
      return place === id ? null : row({ place });
    };
    const causeOf = async (
      filter: { readonly id: string } | { readonly receipt: string },
    ): Promise<string | undefined> => (await outbox.find({ ...filter, limit: 1 }))[0]?.cause;

    return (
      (await row({ id: query })) ??
      (await firstOfTurn(query)) ??
      (await ofCause(await causeOf({ id: query }))) ??
      (await row({ message: query })) ??
      (await ofCause(await causeOf({ receipt: `"messageId":${JSON.stringify(query)}` }))) ??
      (await ofSession(query)) ??
      (await row({ place: query })) ??
      (await ofEncoded(query)) ??
      // The payload is JSON, so words are searched in their JSON form.
      (await row({ text: JSON.stringify(query).slice(1, -1) }))
    );
  };
}
