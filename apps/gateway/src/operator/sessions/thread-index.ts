// Remembers which conversations a web peer has beside its first one, and how it called them: one cell each,
// which nothing but their owner's word takes away.
import type { Cells } from "@parley/store";

interface ThreadNote {
  /** Empty for the first conversation. */
  readonly thread: string;
  readonly name: string | null;
  /** The beginning of the first message. */
  readonly title: string | null;
  readonly pinned: boolean;
  readonly listed: boolean;
  /** When somebody wrote there last, to within `usedEveryMs`. */
  readonly usedAtMs: number;
}

/** Of the cells; account, peer and conversation follow. */
export const threadPrefix = "web-thread:";
/** More than a person writes in a lifetime. */
const mostThreads = 50_000;
const titleChars = 80;
/** A conversation in which much is said is not written down with each message. */
const usedEveryMs = 600_000;
/** Of several tabs that change one at once, the last wins. */
const fresh = { name: null, title: null, pinned: false, listed: true, usedAtMs: 0 } as const;

export interface ThreadIndex {
  /** Lists a conversation in which somebody writes. */
  open(peer: string, thread: string, text: string, nowMs: number): Promise<void>;
  set(peer: string, thread: string, patch: Partial<Omit<ThreadNote, "thread">>): Promise<ThreadNote>;
  /** Pinned ones first, then those that were used last. */
  list(peer: string): Promise<readonly ThreadNote[]>;
}

export function threadIndex(cells: Pick<Cells, "get" | "put" | "list">, account: string): ThreadIndex {
  const prefixOf = (peer: string): string => `${threadPrefix}${account}:${encodeURIComponent(peer)}:`;
  const keyOf = (peer: string, thread: string): string => prefixOf(peer) + encodeURIComponent(thread);

  async function read(key: string, thread: string): Promise<ThreadNote | null> {
    const cell = await cells.get(key);
    return cell === null ? null : { ...fresh, ...(JSON.parse(cell.value) as Partial<ThreadNote>), thread };
  }

  async function set(
    peer: string,
    thread: string,
    patch: Partial<Omit<ThreadNote, "thread">>,
  ): Promise<ThreadNote> {
    const key = keyOf(peer, thread);
    const note = { ...fresh, ...(await read(key, thread)), ...patch, thread };
    await cells.put(key, JSON.stringify(note), {});
    return note;
  }

  return {
    async open(peer, thread, text, nowMs) {
      const known = await read(keyOf(peer, thread), thread);
      const title = known?.title ?? text.trim().slice(0, titleChars);
      const isKnown = known?.listed === true && known.title !== null;
      if (!isKnown || nowMs - known.usedAtMs >= usedEveryMs)
        await set(peer, thread, { listed: true, title, usedAtMs: nowMs });
    },
    set,
    async list(peer) {
      const found = await cells.list(prefixOf(peer), mostThreads);
      return found
        .map(({ key, value }) => ({
          ...fresh,
          ...(JSON.parse(value) as Partial<ThreadNote>),
          thread: decodeURIComponent(key.slice(prefixOf(peer).length)),
        }))
        .toSorted((a, b) => Number(b.pinned) - Number(a.pinned) || b.usedAtMs - a.usedAtMs);
    },
  };
}
