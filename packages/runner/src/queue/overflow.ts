// Tells the people of a conversation when more messages came than the agent could read whole or the queue
// holds: how many, and what to do. The notice's id makes it once per burst; a group hears it only where
// somebody addressed the agent.
import { conversationKey, type Address } from "@parley/protocol";
import type { Row, Turn } from "@parley/store";
import { droppedLog } from "./dropped-messages.ts";
import { textDelivery } from "@parley/delivery";
import type { Services } from "../turn-scope.ts";

/** Counts the shortened messages among those that a turn was opened with. */
export interface Shortened {
  /** Messages told by their beginning alone, or without their files. */
  readonly cut: number;
  /** Characters of that beginning. */
  readonly chars: number;
  readonly whole: number;
}

export interface Overflow {
  /** Notes for the agent about dropped messages. */
  notes(conversation: Turn["conversation"]): Promise<readonly string[]>;
  /** Tells the people. It is safe to repeat for the same turn. */
  tell(
    turn: Turn,
    address: Address,
    opening: readonly Row[],
    shortened: Shortened | null,
    isOwed: boolean,
  ): Promise<void>;
}

/** Messages within this time are one burst. */
const burstMs = 10 * 60_000;

export function overflow({ cells, outbox, log }: Pick<Services, "cells" | "outbox" | "log">): Overflow {
  const dropped = droppedLog(cells);
  return {
    async notes(conversation) {
      const untold = await dropped.untold(conversation);
      return untold === null
        ? []
        : [`${counted(untold.count)} dropped unread, because the queue was full; the sender is told so`];
    },
    async tell(turn, address, opening, shortened, isOwed) {
      const lane = conversationKey(address);
      if (shortened !== null && shortened.cut > 0 && isOwed) {
        const burst = Math.floor((opening[0]?.acceptedAtMs ?? 0) / burstMs);
        const words = `⚠️ A lot came at once. I read the newest ${shortened.whole} messages whole, and of ${shortened.cut} before them only the first ${shortened.chars} characters, and no files. If something in those matters, please send it again, on its own.`;
        await outbox.post([textDelivery(`overflow:${lane}:${burst}`, address, words, turn.id)]);
      }
      const untold = await dropped.untold(turn.conversation);
      if (untold === null) return;
      if (address.kind === "dm" || untold.isOwed) {
        const words = `⚠️ Too much came at once: ${counted(untold.count)} dropped unread, because only so many may wait here. Please send again what still matters.`;
        await outbox.post([textDelivery(`dropped:${lane}:${untold.version}`, address, words, turn.id)]);
      }
      log.info({ dropped: untold.count }, "told of messages that a full queue dropped");
      await dropped.told(turn.conversation, untold);
    },
  };
}

function counted(count: number): string {
  return `${count} message${count === 1 ? " was" : "s were"}`;
}
