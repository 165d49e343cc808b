// Lets an album that calls the agent in a group call it with all its pictures: the words stand on one part
// alone, and the other parts would be context that nobody looks at. What is known is stored rows, so a kill
// between the parts forgets nothing; what stands in the same batch is remembered.
import { conversationKey, parseRowPayload, type Inbound, type SessionKey } from "@parley/protocol";
import type { Inbox } from "@parley/store";

export interface AlbumParts {
  /** The part as one that calls the agent, when another of its album and sender did. */
  joined(inbound: Inbound, session: SessionKey): Promise<Inbound>;
  /** This part did not call the agent, at least not yet. */
  passed(inbound: Inbound): void;
  /** This one is let in to the agent. The first of its album brings the files of the parts that passed. */
  called(inbound: Inbound, session: SessionKey): Promise<Inbound>;
}

type Files = Inbound["attachments"];

const mostAlbums = 100;
const mostRows = 50;
/** Platforms end an album at ten. */
const mostFiles = 20;

export function albumParts(inbox: Pick<Inbox, "find">): AlbumParts {
  /** The event that called, with the files that it brings: it may be planned again. */
  const known = new Map<string, { readonly id: string; readonly files: Files }>();
  const before = new Map<string, Files>();
  return {
    async joined(inbound, session) {
      const key = keyOf(inbound);
      if (key === null || inbound.addressed) return inbound;
      const isCalled = known.has(key) || (await isStored(key, session));
      return isCalled ? { ...inbound, addressed: true } : inbound;
    },
    passed(inbound) {
      const key = keyOf(inbound);
      if (key !== null) remember(before, key, together(before.get(key) ?? [], inbound.attachments));
    },
    async called(inbound, session) {
      const key = keyOf(inbound);
      if (key === null) return inbound;
      const first = known.get(key);
      if (first === undefined) {
        const files = (await isStored(key, session))
          ? inbound.attachments
          : together(
              together(await filesBefore(key, session), before.get(key) ?? []).slice(0, mostFiles),
              inbound.attachments,
            );
        remember(known, key, { id: inbound.id, files });
        return { ...inbound, attachments: [...files] };
      }
      remember(known, key, first);
      return first.id === inbound.id ? { ...inbound, attachments: [...first.files] } : inbound;
    },
  };

  async function isStored(key: string, session: SessionKey): Promise<boolean> {
    for (const state of ["waiting", "claimed"] as const) {
      if ((await partsIn(state, key, session)).length > 0) return true;
    }
    return false;
  }

  async function filesBefore(key: string, session: SessionKey): Promise<Files> {
    const newestFirst = await partsIn("context", key, session);
    return newestFirst.toReversed().flatMap(({ attachments }) => attachments);
  }

  async function partsIn(
    state: "waiting" | "claimed" | "context",
    key: string,
    session: SessionKey,
  ): Promise<readonly Inbound[]> {
    const rows = await inbox.find({ lane: session, state, limit: mostRows });
    return rows.map(({ payload }) => parseRowPayload(payload).inbound).filter((each) => keyOf(each) === key);
  }
}

function together(some: Files, more: Files): Files {
  return [...some, ...more.filter(({ ref }) => !some.some((each) => each.ref === ref))];
}

function remember<T>(into: Map<string, T>, key: string, value: T): void {
  into.delete(key);
  into.set(key, value);
  const [oldest] = into.keys();
  if (into.size > mostAlbums && oldest !== undefined) into.delete(oldest);
}

/** Null for what is no part of an album in a group. Forwarded messages are no album. */
function keyOf({ kind, groupId, address, sender }: Inbound): string | null {
  if (kind !== "message" || groupId === undefined || groupId === "forwarded") return null;
  return address.kind === "dm" ? null : `${conversationKey(address)} ${sender.id} ${groupId}`;
}
