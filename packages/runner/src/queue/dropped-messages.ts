// Counts the messages that a full queue dropped from a conversation, until the next turn tells its people
// once for all of them.
import type { ConversationKey } from "@parley/protocol";
import type { Cells } from "@parley/store";

interface DroppedMessages {
  readonly count: number;
  /** At least one of the dropped messages addressed the agent. */
  readonly isOwed: boolean;
  /** The version of the cell, so that `told` removes only what was told. */
  readonly version: number;
}

export interface DroppedLog {
  add(conversation: ConversationKey, dropped: Omit<DroppedMessages, "version">): Promise<void>;
  /** Returns null when there is nothing to tell. */
  untold(conversation: ConversationKey): Promise<DroppedMessages | null>;
  told(conversation: ConversationKey, dropped: DroppedMessages): Promise<void>;
}

/** After a day nobody wants to hear of it. */
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
