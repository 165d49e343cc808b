// Remembers chats that do not take our messages: the person blocked the bot, the group removed it, the
// account is gone. Deliveries there fail without asking the platform again, until the chat's next event opens
// it. Cells keep the list, memory answers, because every delivery asks.
import { accountKey, encodeKeyPart, type Address } from "@parley/protocol";
import type { Cells } from "@parley/store";

export interface UnreachableChats {
  /** Resolves with why nothing can be sent to this chat; null while something may. */
  reason(to: Address): Promise<string | null>;
  /** The same from the store, which other processes write too. */
  reasonNow(to: Address): Promise<string | null>;
  /** An address without a thread closes the chat with all of its threads. */
  close(to: Address, reason: string): Promise<void>;
  /** Opens chats again that sent us something. */
  open(from: Iterable<Address>): Promise<void>;
}

const prefix = "closed:";
const mostChats = 10_000;
/** After this the chat is tried again even if it stayed silent. */
const lifeMs = 30 * 86_400_000;

/** `opening`: called with chats before they are open again; after a crash in it they are opened again. */
export function unreachableChats(
  cells: Pick<Cells, "get" | "list" | "put" | "remove">,
  opening: (chats: readonly Address[]) => Promise<void> = async () => {},
): UnreachableChats {
  let loaded: Promise<Map<string, string>> | null = null;

  const load = async (): Promise<Map<string, string>> =>
    new Map((await cells.list(prefix, mostChats)).map((cell) => [cell.key, cell.value]));
  const closed = (): Promise<Map<string, string>> =>
    (loaded ??= load().catch((error: unknown) => {
      loaded = null;
      throw error;
    }));
  const keyOf = (address: Address): string => {
    const { peer, thread } = address;
    const within = thread === undefined ? "" : `:${encodeKeyPart(thread)}`;
    return `${prefix}${accountKey(address)}:${encodeKeyPart(peer)}${within}`;
  };
  /** Of the chat, and of its thread. */
  const keysOf = ({ thread, ...chat }: Address): readonly string[] => [
    keyOf(chat),
    ...(thread === undefined ? [] : [keyOf({ ...chat, thread })]),
  ];

  return {
    async reason(to) {
      const known = await closed();
      return keysOf(to).flatMap((key) => known.get(key) ?? [])[0] ?? null;
    },
    async reasonNow(to) {
      for (const key of keysOf(to)) {
        const cell = await cells.get(key);
        if (cell !== null) return cell.value;
      }
      return null;
    },
    async close(to, reason) {
      await cells.put(keyOf(to), reason, { ttlMs: lifeMs });
      (await closed()).set(keyOf(to), reason);
    },
    async open(from) {
      const known = await closed();
      if (known.size === 0) return;
      const places = [...from].filter((address) => keysOf(address).some((key) => known.has(key)));
      if (places.length === 0) return;
      await opening(places);
      for (const key of new Set(places.flatMap(keysOf))) {
        if (!known.has(key)) continue;
        await cells.remove(key);
        known.delete(key);
      }
    },
  };
}
