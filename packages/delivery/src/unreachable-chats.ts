// Remembers chats that do not take our messages: the person blocked the bot, the group removed it, the
// account is gone. Deliveries there fail without asking the platform again, until the chat's next event opens
// it. Cells keep the list, memory answers, because every delivery asks.
import { accountKey, encodeKeyPart, type Address } from "@parley/protocol";
import type { Cells } from "@parley/store";

export interface UnreachableChats {
  /** Resolves with why nothing can be sent to this chat; null while something may. */
  reason(to: Address): Promise<string | null>;
  close(to: Address, reason: string): Promise<void>;
  /** Opens chats again that sent us something. */
  open(from: Iterable<Address>): Promise<void>;
}

const prefix = "closed:";
const mostChats = 10_000;
/** After this the chat is tried again even if it stayed silent. */
const lifeMs = 30 * 86_400_000;

export function unreachableChats(cells: Pick<Cells, "list" | "put" | "remove">): UnreachableChats {
  let loaded: Promise<Map<string, string>> | null = null;

  const load = async (): Promise<Map<string, string>> =>
    new Map((await cells.list(prefix, mostChats)).map((cell) => [cell.key, cell.value]));
  const closed = (): Promise<Map<string, string>> =>
    (loaded ??= load().catch((error: unknown) => {
      loaded = null;
      throw error;
    }));
  const keyOf = (address: Address): string =>
    `${prefix}${accountKey(address)}:${encodeKeyPart(address.peer)}`;

  return {
    reason: async (to) => (await closed()).get(keyOf(to)) ?? null,
    async close(to, reason) {
      await cells.put(keyOf(to), reason, { ttlMs: lifeMs });
      (await closed()).set(keyOf(to), reason);
    },
    async open(from) {
      const known = await closed();
      if (known.size === 0) return;
      for (const key of new Set([...from].map(keyOf))) {
        if (!known.has(key)) continue;
        await cells.remove(key);
        known.delete(key);
      }
    },
  };
}
