// Lets an album that calls the agent in a group call it with all its pictures: the words stand on one part
// alone, and the other parts would be context that nobody looks at. What is known is stored rows, so a kill
// between the parts forgets nothing; what stands in the same batch is remembered.
import { conversationKey, parseRowPayload, type Inbound, type SessionKey } from "@parley/protocol";
import type { Inbox } from "@parley/store";

export interface AlbumParts {
  /** The part as one that calls the agent, when another of its album and sender did. */
  joined(inbound: Inbound, session: SessionKey): Promise<Inbound>;
  /** This one is let in to the agent. */
  called(inbound: Inbound): void;
}

const mostAlbums = 100;
const mostRows = 50;

export function albumParts(inbox: Pick<Inbox, "find">): AlbumParts {
  const known = new Set<string>();
  return {
    async joined(inbound, session) {
      const key = keyOf(inbound);
      if (key === null || inbound.addressed) return inbound;
      const isCalled = known.has(key) || (await isStored(key, session));
      return isCalled ? { ...inbound, addressed: true } : inbound;
    },
    called(inbound) {
      const key = keyOf(inbound);
      if (key === null) return;
      known.delete(key);
      known.add(key);
      for (const oldest of known) {
        if (known.size <= mostAlbums) break;
        known.delete(oldest);
      }
    },
  };

  async function isStored(key: string, session: SessionKey): Promise<boolean> {
    for (const state of ["waiting", "claimed"] as const) {
      const rows = await inbox.find({ lane: session, state, limit: mostRows });
      if (rows.some(({ payload }) => keyOf(parseRowPayload(payload).inbound) === key)) return true;
    }
    return false;
  }
}

/** Null for what is no part of an album in a group. Forwarded messages are no album. */
function keyOf({ kind, groupId, address, sender }: Inbound): string | null {
  if (kind !== "message" || groupId === undefined || groupId === "forwarded") return null;
  return address.kind === "dm" ? null : `${conversationKey(address)} ${sender.id} ${groupId}`;
}
