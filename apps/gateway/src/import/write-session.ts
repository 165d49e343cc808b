// Writes the sessions of an OpenClaw home into the store, each with its whole transcript in one commit. One
// that has a conversation here already is left as it is.
import { conversationKey, Fault, formatRowPayload } from "@parley/protocol";
import type { Store } from "@parley/store";
import type { OldSession } from "./sessions.ts";

const pool = "import";
/** The home lock keeps others out; a longer lease of a killed import would hide its lane from the next. */
const leaseMs = 1;

/**
 * False when the session has a conversation here already. May be called again after a crash: the row is known
 * by its id, and the turn that it began is taken again.
 */
export async function writeSession(
  store: Store,
  { key, place, entries }: OldSession,
  holder: string,
  nowMs: number,
): Promise<boolean> {
  const session = await store.sessions.open(key);
  if (session.lastSeq > 0) return false;
  const id = await openId(store, `${pool}:openclaw:${key}`);
  await store.inbox.accept([
    {
      id,
      pool,
      lane: key,
      conversation: conversationKey(place),
      authority: pool,
      as: { kind: "work" },
      payload: formatRowPayload({
        v: 1,
        inbound: {
          id,
          channel: place.channel,
          account: place.account,
          address: place,
          sender: { id: place.peer, name: "", isBot: false },
          messageId: id,
          kind: "message",
          text: "parley import openclaw",
          attachments: [],
          mentions: [],
          addressed: true,
          atMs: nowMs,
        },
        owner: false,
      }),
    },
  ]);
  for (;;) {
    const turn = await store.turns.take({ pool, holder, leaseMs, maxRows: 1 });
    if ("idle" in turn) throw new Fault("conflict", `the conversation ${key} is being imported by another`);
    const isOurs = turn.lane === key;
    await store.turns.commit(turn, turn.id, {
      outcome: isOurs ? "commanded" : "stopped",
      reason: isOurs ? "its conversation was carried over from OpenClaw" : "its import began anew",
      entries: isOurs ? entries().map((entry) => JSON.stringify(entry)) : [],
    });
    if (isOurs) return true;
  }
}

/**
 * The first of a conversation's ids under which no row ended: what a killed import left may have ended while
 * another conversation was carried over, and an ended row is not taken again. Every import that is killed
 * here finds the same one, so that no row is left over.
 */
async function openId({ inbox }: Pick<Store, "inbox">, first: string): Promise<string> {
  for (let n = 1; ; n += 1) {
    const id = n === 1 ? first : `${first}:${n}`;
    const [row] = await inbox.find({ id, limit: 1 });
    if (row?.state !== "ended") return id;
  }
}
