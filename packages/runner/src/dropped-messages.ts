// How many messages of a conversation a full queue dropped that its people have not been told of: counted where they are dropped, told once for
// all by the turn that comes next. Lost by nothing but the telling of it.
import type { ConversationKey } from "@parley/protocol";
import type { Cells } from "@parley/store";

interface DroppedMessages {
  readonly count: number;
  /** One of them was meant for us. */
  readonly isOwed: boolean;
  /** Names this telling. */
  readonly version: number;
}

export interface DroppedLog {
  add(conversation: ConversationKey, dropped: Omit<DroppedMessages, "version">): Promise<void>;
  /** Null when there is nothing to tell. */
  untold(conversation: ConversationKey): Promise<DroppedMessages | null>;
  told(conversation: ConversationKey, dropped: DroppedMessages): Promise<void>;
}

/** Nobody wants to hear of it later. */
const lifeMs = 86_400_000;

export function droppedLog(cells: Pick<Cells, "get" | "put" | "remove">): DroppedLog {
  const keyOf = (conversation: ConversationKey): string => `dropped:${conversation}`;

  async function untold(conversation: ConversationKey): Promise<DroppedMessages | null> {
    const cell = await cells.get(keyOf(conversation));
    return cell === null
      ? null
      : { ...(JSON.parse(cell.value) as Omit<DroppedMessages, "version">), version: cell.version };
  }

  return {
    untold,
    async add(conversation, { count, isOwed }) {
      for (;;) {
        const known = await untold(conversation);
        const sum = JSON.stringify({
          count: (known?.count ?? 0) + count,
          isOwed: isOwed || known?.isOwed === true,
        });
        // Another node may count at the same moment.
        if (
          (await cells.put(keyOf(conversation), sum, { expect: known?.version ?? 0, ttlMs: lifeMs })) !== null
        )
          return;
      }
    },
    async told(conversation, { version }) {
      await cells.remove(keyOf(conversation), version);
    },
  };
}
