// Counts the messages that people told to join the running turn (/steer) in a session whose messages wait.
// They join only from the front: nothing that waits longer is overtaken.
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
