// Looks at what waits behind a turn: messages that people told to join it (/steer), which join only from the
// front, so that nothing that waits longer is overtaken, and messages that end its waiting.
import { parseRowPayload, type SessionKey } from "@parley/protocol";
import type { Inbox, Turn } from "@parley/store";

const lookedAt = 50;

export async function pushedRows(
  inbox: Pick<Inbox, "find">,
  { lane, conversation, authority }: Pick<Turn, "lane" | "conversation" | "authority">,
): Promise<number> {
  const waiting = await inbox.find({ lane: lane as SessionKey, state: "waiting", limit: lookedAt });
  const first = waiting.toReversed();
  const end = first.findIndex(
    (row) =>
      row.conversation !== conversation ||
      row.authority !== authority ||
      parseRowPayload(row.payload).steer !== true,
  );
  return end === -1 && waiting.length < lookedAt ? first.length : Math.max(0, end);
}

const mostWaiting = 1_000;

/**
 * True when a message waits that woke the parked turn: one of its conversation and authority. What Parley
 * writes, such as a sub-agent's end, has a ticket of its own and waits until the turn ends or reads on.
 */
export async function somebodyWrote(
  inbox: Pick<Inbox, "find">,
  { lane, conversation, authority }: Pick<Turn, "lane" | "conversation" | "authority">,
): Promise<boolean> {
  const waiting = await inbox.find({ lane: lane as SessionKey, state: "waiting", limit: mostWaiting });
  return waiting.some(
    (row) => row.conversation === conversation && row.authority === authority && row.ticket === undefined,
  );
}
